import"./chunk-6W3QSIHN.js";
