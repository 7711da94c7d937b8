import"./chunk-OATTO2DP.js";
