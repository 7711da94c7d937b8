import"./chunk-SY6HAH4Z.js";
