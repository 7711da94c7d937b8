import"./chunk-H45TRKVY.js";
