import"./chunk-QWUZLWDL.js";
