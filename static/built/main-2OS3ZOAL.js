import"./chunk-WQOGWWEK.js";
