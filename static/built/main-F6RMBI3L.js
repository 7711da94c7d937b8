import"./chunk-ZOKPLAAE.js";
