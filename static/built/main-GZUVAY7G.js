import"./chunk-QAX5CPUG.js";
