import"./chunk-XHSQRQAR.js";
