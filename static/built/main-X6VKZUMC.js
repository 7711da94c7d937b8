import"./chunk-HM4QIR4B.js";
