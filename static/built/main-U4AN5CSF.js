import"./chunk-ZQYORIFC.js";
