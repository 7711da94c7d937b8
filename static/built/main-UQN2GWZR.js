import"./chunk-LSBVUS53.js";
