import"./chunk-3YUXZVNR.js";
