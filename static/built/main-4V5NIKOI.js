import"./chunk-NB24K2GF.js";
