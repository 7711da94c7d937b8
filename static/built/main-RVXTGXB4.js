import"./chunk-OPN57I75.js";
