/**
 * Parses Markdown, colours code and draws formulas beside the page, which ends this worker when something takes too
 * long. A formula is drawn by KaTeX on a sheet that stands for the page's document.
 */

import { parse } from "./blocks.js";

/**
 * @import { Task } from "./background.js"
 * @typedef {{highlight: (code: string, options: {language: string, ignoreIllegals: boolean}) => {value: string},
 *   registerLanguage: (name: string, language: unknown) => void}} Highlighter what is used of highlight.js
 * @typedef {{render: (source: string, element: Leaf, options: object) => void}} Katex what is used of it
 * @typedef {{tag: string, attributes: Record<string, string>, style: Record<string, string>,
 *   children: (Tree|string)[]}} Tree an element, as it is sent to the page
 * @typedef {{tree: Tree, millis: number}|{why: string|null, millis: number}} Formula or why it isn't drawn; null: it would
 *   cost too much
 */

// In em: no formula may grow over the page.
const OPTIONS = {
  throwOnError: true,
  trust: false,
  strict: "ignore",
  maxSize: 20,
  output: "htmlAndMathml",
};
// KaTeX nests seven elements a level, and Chromium ends a page whose elements are nested 1,100 deep.
const DEEPEST_SOURCE = 50;
const DEEPEST = 300;
// An ordinary formula has a hundred, a matrix of 20 rows and columns 3,000; laying out 8,000 takes the page a moment.
const MOST_NODES = 8_000;
// Macros may be used 200 times, and long ones, which a formula may define for itself, less often.
const MOST_EXPANDED = 200;
const MOST_CHARACTERS_EXPANDED = 10_000;
const DEFINES = /\\(?:[gex]?def|let|futurelet|global|(?:re)?newcommand|providecommand)/;

class TooMuch extends Error {}

addEventListener("message", async ({ data }) => {
  try {
    const work = await prepare(data);
    // The page's clock starts with this, not while modules are being loaded.
    postMessage({ begun: true });
    postMessage({ result: work() });
  } catch (error) {
    console.error(error);
    postMessage({ failed: "impossible" });
  }
});

/** @param {Task} task */
async function prepare(task) {
  if ("text" in task) return () => parse(task.text);
  if ("formula" in task) return prepareFormula(task.formula, task.display, task.script);
  const { code, language, modules } = task;
  // Imported once, however often they are asked for.
  const [core, grammar] = await Promise.all(modules.map((address) => import(address)));
  /** @type {Highlighter} */
  const highlighter = core.default;
  highlighter.registerLanguage(language, grammar.default);
  return () => highlighter.highlight(code, { language, ignoreIllegals: true }).value;
}

/** An element, as far as KaTeX needs one. Only what it holds is sent to the page, not what it can do. */
class Leaf {
  /** @param {string} tag */
  constructor(tag) {
    this.tag = tag;
    /** @type {Record<string, string>} */
    this.attributes = {};
    /** @type {Record<string, string>} */
    this.style = {};
    /** @type {(Leaf|string)[]} */
    this.children = [];
  }

  set className(/** @type {string} */ names) {
    if (names) this.attributes.class = names;
  }

  set textContent(/** @type {string} */ text) {
    this.children = text ? [text] : [];
  }

  /**
   * @param {string} name
   * @param {unknown} value
   */
  setAttribute(name, value) {
    this.attributes[name] = String(value);
  }

  /** @param {Leaf|string} child */
  appendChild(child) {
    if (child instanceof Leaf && !child.tag)
      for (const one of child.children) this.children.push(one);
    else this.children.push(child);
  }
}

/** A document that ends KaTeX's work once it has made too many elements. */
class Sheet {
  compatMode = "CSS1Compat";
  left = MOST_NODES;

  /** @param {string} tag */
  createElement(tag) {
    if ((this.left -= 1) < 0) throw new TooMuch();
    return new Leaf(tag);
  }

  /**
   * @param {string} _namespace which the tag says too
   * @param {string} tag
   */
  createElementNS(_namespace, tag) {
    return this.createElement(tag);
  }

  createDocumentFragment() {
    return new Leaf("");
  }

  /** @param {string} text */
  createTextNode(text) {
    return text;
  }
}

/**
 * @param {string} source
 * @param {boolean} display
 * @param {string} script
 * @returns {Promise<() => Formula>}
 */
async function prepareFormula(source, display, script) {
  const here = /** @type {{document: unknown, katex: Katex}} */ (
    /** @type {unknown} */ (globalThis)
  );
  // KaTeX asks for it when it is loaded, too.
  here.document = new Sheet();
  await import(script);
  return () => {
    const began = performance.now();
    const drawn = drawFormula(here.katex, source, display);
    return { ...drawn, millis: performance.now() - began };
  };
}

/**
 * @param {Katex} katex
 * @param {string} source
 * @param {boolean} display
 * @returns {{tree: Tree}|{why: string|null}}
 */
function drawFormula(katex, source, display) {
  try {
    if (depthOfSource(source) > DEEPEST_SOURCE) throw new TooMuch();
    const root = new Leaf("span");
    katex.render(source, root, {
      ...OPTIONS,
      displayMode: display,
      maxExpand: mostExpanded(source),
    });
    if (isDeeper(root, DEEPEST)) throw new TooMuch();
    return { tree: root };
  } catch (error) {
    // KaTeX calls itself at each level.
    if (error instanceof TooMuch || error instanceof RangeError) return { why: null };
    return { why: error instanceof Error ? error.message : String(error) };
  }
}

/** @param {string} source */
function mostExpanded(source) {
  return DEFINES.test(source)
    ? Math.min(MOST_EXPANDED, Math.floor(MOST_CHARACTERS_EXPANDED / source.length))
    : MOST_EXPANDED;
}

/**
 * How deep groups, environments and brackets that grow are nested.
 * @param {string} source
 */
function depthOfSource(source) {
  let depth = 0;
  let deepest = 0;
  for (const [sign] of source.matchAll(/\\(?:begin|left|end|right)(?![A-Za-z])|\\[^]|[{}]/g)) {
    if (sign === "{" || sign === "\\begin" || sign === "\\left")
      deepest = Math.max(deepest, ++depth);
    else if (sign === "}" || sign === "\\end" || sign === "\\right") depth -= 1;
  }
  return deepest;
}

/**
 * Whether elements are nested deeper; without recursion, which is what it saves others from.
 * @param {Leaf} root
 * @param {number} most
 */
function isDeeper(root, most) {
  /** @type {(Leaf|string)[]} */
  let level = [root];
  for (let depth = 0; level.length; depth += 1) {
    if (depth > most) return true;
    level = level.flatMap((one) => (one instanceof Leaf ? one.children : []));
  }
  return false;
}
