import"./chunk-W7LNKSEG.js";
