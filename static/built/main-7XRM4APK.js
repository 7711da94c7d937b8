import"./chunk-F2V4V3U2.js";
