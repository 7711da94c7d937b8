import"./chunk-XPN2ULBY.js";
