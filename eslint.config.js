import js from "@eslint/js";
import globals from "globals";

export default [
  { ignores: ["static/built/**", "static/vendor/**"] },
  js.configs.recommended,
  {
    files: ["static/chat/**/*.js", "tests/page/**/*.js", "scripts/**/*.mjs"],
    languageOptions: { globals: { ...globals.browser, ...globals.worker, ...globals.node } },
    rules: {
      // A pattern that takes a part of an object away leaves the rest.
      "no-unused-vars": ["error", { ignoreRestSiblings: true, argsIgnorePattern: "^_", varsIgnorePattern: "^_", caughtErrors: "none" }],
      eqeqeq: ["error", "always", { null: "ignore" }],
      "prefer-const": "error",
      "no-var": "error",
    },
  },
];
