/** Draws formulas with KaTeX, which is loaded when the first one appears; until then, and on errors, the source stands. */

import { h } from "../elements/dom.js";
import { DISPLAY, INLINE } from "./formulas.js";

/**
 * @typedef {{render: (source: string, element: HTMLElement, options: object) => void}} Katex what is used of it
 * @typedef {{script: string, style: string}} Addresses
 */

// More in one text are left as their source: drawing one takes some milliseconds.
const MOST = 400;
// In characters and in em: no formula may grow over the page, or call itself without end.
const OPTIONS = { throwOnError: true, trust: false, strict: "ignore", maxSize: 20, maxExpand: 200, output: "htmlAndMathml" };
// While an answer is written its last block is drawn again and again.
const KEPT = 200;

/** @type {Addresses|null} */
let addresses = null;
/** @type {Promise<void>|null} */
let loading = null;
/** @type {Katex|null} */
let katex = null;
/** @type {Map<string, HTMLElement>} */
const drawn = new Map();

/** @param {Addresses} found of KaTeX's script and style sheet */
export function setMaths(found) {
  addresses = found;
}

/**
 * Puts drawn formulas in the place of their sources. It only makes nodes: nothing that a model wrote is read as HTML.
 * @param {DocumentFragment} fragment that is sanitised
 */
export function drawFormulas(fragment) {
  const found = /** @type {HTMLElement[]} */ ([...fragment.querySelectorAll(`code.${INLINE}, code.${DISPLAY}`)]).slice(0, MOST);
  if (!found.length) return;
  const places = found.map((code) => {
    const display = code.classList.contains(DISPLAY);
    const place = h("span", { class: display ? "formula display" : "formula" }, code.textContent);
    code.replaceWith(place);
    return place;
  });
  if (katex) places.forEach(draw);
  else void load().then(() => places.forEach(draw));
}

/** @param {HTMLElement} place */
function draw(place) {
  const source = place.textContent ?? "";
  const display = place.classList.contains("display");
  const key = `${display}:${source}`;
  let made = drawn.get(key);
  if (!made) {
    made = render(source, display);
    if (drawn.size >= KEPT) drawn.delete(/** @type {string} */ (drawn.keys().next().value));
    drawn.set(key, made);
  }
  place.replaceWith(made.cloneNode(true));
}

/**
 * @param {string} source
 * @param {boolean} display
 */
function render(source, display) {
  const made = h("span", { class: display ? "formula display" : "formula", dir: "ltr" });
  if (display) made.tabIndex = 0;
  try {
    katex?.render(source, made, { ...OPTIONS, displayMode: display });
  } catch (error) {
    made.classList.add("unreadable");
    made.title = error instanceof Error ? error.message : String(error);
    made.replaceChildren(source);
  }
  return made;
}

function load() {
  loading ??= (async () => {
    if (!addresses) return;
    document.head.append(h("link", { rel: "stylesheet", href: addresses.style }));
    await import(addresses.script);
    katex = /** @type {{katex?: Katex}} */ (globalThis).katex ?? null;
  })().catch((error) => {
    console.error(error);
    loading = null;
  });
  return loading;
}
