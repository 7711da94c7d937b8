import"./chunk-V76RGLAB.js";
