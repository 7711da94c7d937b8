import"./chunk-EH2J4C7C.js";
