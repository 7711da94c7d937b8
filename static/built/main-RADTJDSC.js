import"./chunk-6QUWTVDD.js";
