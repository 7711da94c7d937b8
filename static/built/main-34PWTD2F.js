import"./chunk-FVSCEWRB.js";
