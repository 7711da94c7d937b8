import"./chunk-MKLEQGGW.js";
