import"./chunk-3DYXFI75.js";
