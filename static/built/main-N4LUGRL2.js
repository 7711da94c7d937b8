import"./chunk-7U3LXA4A.js";
