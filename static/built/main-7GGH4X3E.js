import"./chunk-7XM7WW7X.js";
