import"./chunk-KSWLVE4A.js";
