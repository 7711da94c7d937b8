import"./chunk-743FRSLI.js";
