import"./chunk-W5426UFB.js";
