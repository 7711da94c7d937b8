/** Code blocks: a bar with the language and a copy button; its colours come from the background. */

import DOMPurify from "../../vendor/dompurify/purify.es.mjs";
import { copy } from "../elements/clipboard.js";
import { h, pressable } from "../elements/dom.js";
import { Late } from "../elements/late.js";
import { runInBackground } from "./background.js";
import { say } from "../words/say.js";

// The name of each language's module, and how else models write it after the fence.
const NAMES = {
  javascript: ["js", "jsx", "mjs"],
  typescript: ["ts", "tsx"],
  python: ["py"],
  bash: ["sh", "zsh"],
  shell: ["console"],
  xml: ["html", "svg"],
  yaml: ["yml"],
  ruby: ["rb"],
  rust: ["rs"],
  go: ["golang"],
  csharp: ["cs", "c#"],
  cpp: ["c++", "hpp"],
  c: ["h"],
  kotlin: ["kt"],
  markdown: ["md"],
  makefile: ["make"],
  dockerfile: ["docker"],
  ini: ["toml"],
  plaintext: ["text", "txt"],
  powershell: ["ps1"],
};
const ALIASES = new Map(
  Object.entries(NAMES).flatMap(([name, others]) => others.map((one) => [one, name])),
);
const LONGEST = 60_000;
// As in a text: `MOST_ELEMENTS` of blocks.js.
const MOST_COLOURED = 10_000;

/** @type {Record<string, string>} */
let modules = {};

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
  const button = pressable(
    { class: "code-copy" },
    () => copy(code.textContent ?? "", button),
    say("Copy"),
  );
  const frame = h(
    "div",
    { class: "code" },
    h("div", { class: "code-bar" }, h("span", {}, language || "text"), button),
  );
  pre.replaceWith(frame);
  pre.tabIndex = 0;
  pre.setAttribute("aria-label", language ? say("Code in {language}", { language }) : say("Code"));
  pre.setAttribute("role", "group");
  frame.append(pre);
  if (!colour || !language) return;
  if (language === "html" || language === "svg") button.before(previewButton(pre, language));
  if (language === "mermaid") button.before(drawButton(pre));
  else void colourCode(code, language);
}

const preview = new Late(() => import("../preview/preview.js"));

/**
 * @param {HTMLPreElement} pre
 * @param {"html"|"svg"} language
 */
const previewButton = (pre, language) =>
  pressable(
    { class: "code-copy" },
    () => preview.use(({ openPreview }) => openPreview(pre.textContent ?? "", language)),
    say("Preview"),
  );

/** @param {HTMLPreElement} pre */
function drawButton(pre) {
  const button = pressable(
    { class: "code-copy" },
    () => diagram.use((it) => it.toggle()),
    say("Draw the diagram"),
  );
  const diagram = new Late(async () => {
    const { Diagram } = await import("../diagrams/diagram.js");
    return new Diagram(pre, button);
  });
  return button;
}

/**
 * @param {Element} code
 * @param {string} language
 */
async function colourCode(code, language) {
  const text = code.textContent ?? "";
  const name = ALIASES.get(language.toLowerCase()) ?? language.toLowerCase();
  const [core, grammar] = [modules["core.min.js"], modules[`languages/${name}.min.js`]];
  if (text.length > LONGEST || !core || !grammar) return;
  const task = { code: text, language: name, modules: [core, grammar] };
  const outcome = await runInBackground(task, () => code.isConnected);
  if (!("result" in outcome) || code.textContent !== text) return;
  const html = /** @type {string} */ (outcome.result);
  if (html.split("<span").length > MOST_COLOURED) return;
  const safe = {
    ALLOWED_TAGS: ["span"],
    ALLOWED_ATTR: ["class"],
    RETURN_DOM_FRAGMENT: /** @type {const} */ (true),
  };
  code.replaceChildren(DOMPurify.sanitize(html, safe));
}
