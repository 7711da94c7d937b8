import"./chunk-H55RVXQO.js";
