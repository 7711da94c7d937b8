import"./chunk-PLVTYTVP.js";
