import"./chunk-XGNIIAVK.js";
