import"./chunk-YRMC7F27.js";
