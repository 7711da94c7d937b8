import"./chunk-V2EO5PYA.js";
