import"./chunk-LPPTCNVR.js";
