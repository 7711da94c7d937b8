import"./chunk-JLAASXTY.js";
