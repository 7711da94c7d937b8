import"./chunk-IGW7NKXU.js";
