import"./chunk-LE2QOHIC.js";
