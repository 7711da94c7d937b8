import"./chunk-DCT6MA6E.js";
