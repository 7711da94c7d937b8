import"./chunk-AGTFPOPZ.js";
