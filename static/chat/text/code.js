/** Code blocks: a bar with the language and a copy button; colours are loaded when first needed. */

import DOMPurify from "../../vendor/dompurify/purify.es.mjs";
import { copy } from "../elements/clipboard.js";
import { h } from "../elements/dom.js";

// The language as models write it after the fence, and the name of its module.
/** @type {Record<string, string>} */
const ALIASES = {
  js: "javascript", jsx: "javascript", mjs: "javascript", ts: "typescript", tsx: "typescript", py: "python",
  sh: "bash", zsh: "bash", console: "shell", html: "xml", svg: "xml", yml: "yaml", rb: "ruby", rs: "rust",
  golang: "go", cs: "csharp", "c#": "csharp", "c++": "cpp", h: "c", hpp: "cpp", kt: "kotlin", md: "markdown",
  make: "makefile", docker: "dockerfile", toml: "ini", text: "plaintext", txt: "plaintext", ps1: "powershell",
};
const LONGEST = 60_000;

/**
 * The part of highlight.js that is used here.
 * @typedef {{highlight: (code: string, options: {language: string, ignoreIllegals: boolean}) => {value: string},
 *   registerLanguage: (name: string, language: unknown) => void}} Highlighter
 */

/** @type {Record<string, string>} */
let modules = {};
/** @type {Promise<Highlighter|null>|null} */
let core = null;
/** @type {Map<string, Promise<boolean>>} */
const languages = new Map();

/**
 * @param {Record<string, string>} addresses of the highlighter's modules by name ("core.min.js");
 *   without them code stays in one colour
 */
export function setHighlighter(addresses) {
  modules = addresses;
}

/**
 * @param {HTMLPreElement} pre
 * @param {{colour: boolean}} options
 */
export function decorateCode(pre, { colour }) {
  const code = pre.querySelector("code") ?? pre;
  const language = /language-(\S+)/.exec(code.className)?.[1] ?? "";
  code.removeAttribute("class");
  const button = h("button", { type: "button", class: "code-copy" }, "Copy");
  button.addEventListener("click", () => copy(code.textContent ?? "", button));
  const frame = h("div", { class: "code" }, h("div", { class: "code-bar" }, h("span", {}, language || "text"), button));
  pre.replaceWith(frame);
  pre.tabIndex = 0;
  pre.setAttribute("aria-label", language ? `Code in ${language}` : "Code");
  pre.setAttribute("role", "group");
  frame.append(pre);
  if (colour && language) void colourCode(code, language);
}

/**
 * @param {Element} code
 * @param {string} language
 */
async function colourCode(code, language) {
  const text = code.textContent ?? "";
  const name = ALIASES[language.toLowerCase()] ?? language.toLowerCase();
  if (text.length > LONGEST || !modules[`languages/${name}.min.js`]) return;
  const hljs = await loadHighlighter();
  if (!hljs || !(await loadLanguage(hljs, name)) || code.textContent !== text) return;
  const html = hljs.highlight(text, { language: name, ignoreIllegals: true }).value;
  const safe = { ALLOWED_TAGS: ["span"], ALLOWED_ATTR: ["class"], RETURN_DOM_FRAGMENT: /** @type {const} */ (true) };
  code.replaceChildren(DOMPurify.sanitize(html, safe));
}

function loadHighlighter() {
  core ??= import(modules["core.min.js"]).then((module) => module.default, () => null);
  return core;
}

/**
 * @param {Highlighter} hljs
 * @param {string} name
 * @returns {Promise<boolean>} whether there is a module for the language
 */
function loadLanguage(hljs, name) {
  let known = languages.get(name);
  if (!known) {
    known = import(modules[`languages/${name}.min.js`]).then(
      (module) => (hljs.registerLanguage(name, module.default), true),
      () => false,
    );
    languages.set(name, known);
  }
  return known;
}
