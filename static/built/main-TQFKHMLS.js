import"./chunk-BV6PQGTK.js";
