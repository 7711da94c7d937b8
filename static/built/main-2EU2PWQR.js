import"./chunk-A5M37L2I.js";
