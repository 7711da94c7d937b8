import"./chunk-5Y5FJCQZ.js";
