import"./chunk-RN2P6PDK.js";
