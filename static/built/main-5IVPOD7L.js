import"./chunk-RI42T4XR.js";
