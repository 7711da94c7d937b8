import"./chunk-AQ75KQDY.js";
