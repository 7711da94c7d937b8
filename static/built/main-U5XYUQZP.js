import"./chunk-E5SU6GGW.js";
