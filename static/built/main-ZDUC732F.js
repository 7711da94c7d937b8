import"./chunk-VYFOA2L5.js";
