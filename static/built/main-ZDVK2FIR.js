import"./chunk-LHJ2M3DK.js";
