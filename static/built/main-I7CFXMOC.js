import"./chunk-PODJMOXF.js";
