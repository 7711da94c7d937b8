/**
 * Shows formulas that KaTeX draws in a worker, as they come near; until then, on errors, and where it would cost too
 * much, the source stands.
 */

import { h } from "../elements/dom.js";
import { say } from "../words/say.js";
import { Background } from "./background.js";
import { DISPLAY, INLINE } from "./grammar/formulas.js";

/**
 * @import { Formula, Tree } from "./worker.js"
 * @typedef {{script: string, style: string}} Addresses of KaTeX
 */

// More in one text are left as their source.
const MOST = 400;
// As long as a formula between dollars may be (`grammar/formulas.js`).
const LONGEST = 4_000;
// Of one message, as long as it is shown. A page of mathematics has some thousand nodes.
const MOST_NODES = 20_000;
const MOST_MILLIS = 2_000;
// Of the block that is being written: it is drawn again and again, from what is kept.
const MOST_NODES_WRITTEN = 3_000;
// So much is put into the page at once; laying it out takes ten times as long as making it.
const PIECE_NODES = 2_000;
const PIECE_MILLIS = 20;
// So many are drawn without waiting until they come near.
const AT_ONCE = 100;
const AT_ONCE_NODES = 40_000;
const NEAR = "200% 0px";
const KEPT = 500;
const KEPT_NODES = 60_000;
// What formulas are made of; what leads somewhere isn't trusted to KaTeX, and isn't made here either.
/** @type {[string, RegExp][]} */
const NAMESPACES = [
  ["http://www.w3.org/1999/xhtml", /^span$/],
  ["http://www.w3.org/2000/svg", /^(?:svg|path|line)$/],
  [
    "http://www.w3.org/1998/Math/MathML",
    /^(?:math|semantics|annotation|m[a-z]+(?<!maction|mglyph))$/,
  ],
];
const REFUSED = /^(?:on|style$|src|href|xlink|id$)/i;
const TOO_MUCH = say("Not drawn: it would take too long, or is nested too deeply.");

const background = new Background();
/** @type {Addresses|null} */
let addresses = null;
/** @type {Promise<unknown>|null} */
let styled = null;
/** @type {Map<string, {made: HTMLElement, nodes: number}>} */
const kept = new Map();
let keptNodes = 0;
/** @type {HTMLElement[]} in the order in which they are drawn */
let waiting = [];
let begun = false;
/** @type {WeakSet<Element>} */
const near = new WeakSet();
let drawnFar = 0;
const places = new IntersectionObserver(comeNear, { rootMargin: NEAR });
/** @type {WeakMap<Node, number>} milliseconds, by message */
const spent = new WeakMap();

/** @param {Addresses} found */
export function setMaths(found) {
  addresses = found;
}

/**
 * Puts drawn formulas in the place of their sources. It only makes nodes: nothing that a model wrote is read as HTML.
 * @param {DocumentFragment} fragment that is sanitised
 */
export function drawFormulas(fragment) {
  const found = /** @type {HTMLElement[]} */ ([
    ...fragment.querySelectorAll(`code.${INLINE}, code.${DISPLAY}`),
  ]).slice(0, MOST);
  const fresh = found.map((code) => {
    const display = code.classList.contains(DISPLAY);
    const place = h("span", { class: display ? "formula display" : "formula" }, code.textContent);
    code.replaceWith(place);
    return place;
  });
  // The fragment is in the page then, and nothing is painted before.
  if (fresh.length) queueMicrotask(() => begin(fresh));
}

/**
 * What was drawn before is there at once.
 * @param {HTMLElement[]} fresh
 */
function begin(fresh) {
  const ends = performance.now() + PIECE_MILLIS;
  let nodes = 0;
  for (const place of fresh) {
    if ((place.textContent ?? "").length > LONGEST) leave(place, TOO_MUCH);
    else if (kept.has(keyOf(place)) && nodes < PIECE_NODES && performance.now() < ends)
      nodes += put(place);
    else {
      places.observe(place);
      if (waiting.length < AT_ONCE) waiting.push(place);
    }
  }
  void drawWaiting();
}

/** @param {IntersectionObserverEntry[]} seen */
function comeNear(seen) {
  /** @type {Set<HTMLElement>} */
  const coming = new Set();
  for (const { isIntersecting, target } of seen) {
    if (isIntersecting) coming.add(/** @type {HTMLElement} */ (target));
    near[isIntersecting ? "add" : "delete"](target);
  }
  if (coming.size) waiting = [...coming, ...waiting.filter((place) => !coming.has(place))];
  void drawWaiting();
}

/** One after another, and the page has its turn in between. */
async function drawWaiting() {
  if (begun || !waiting.length) return;
  begun = true;
  try {
    await (styled ??= loadStyle());
    for (let nodes = 0, place = waiting.shift(); place; place = waiting.shift()) {
      const isFar = !near.has(place);
      // It is drawn when it comes near, or into the page.
      if (!place.isConnected || (isFar && drawnFar > AT_ONCE_NODES)) continue;
      if (!kept.has(keyOf(place)) && !(await draw(place))) return;
      const more = put(place);
      if (isFar) drawnFar += more;
      if ((nodes += more) < PIECE_NODES) continue;
      await nextFrame();
      nodes = 0;
    }
  } finally {
    begun = false;
  }
}

/** A page that isn't shown has no frames. */
const nextFrame = () =>
  new Promise((resolve) => {
    requestAnimationFrame(() => setTimeout(resolve));
    setTimeout(resolve, 200);
  });

/**
 * Draws its formula in the worker.
 * @param {HTMLElement} place
 * @returns {Promise<boolean>} false: no formula can be drawn now
 */
async function draw(place) {
  const message = messageOf(place);
  const used = spent.get(message) ?? 0;
  if (used > MOST_MILLIS) return Boolean(leave(place, TOO_MUCH));
  const display = place.classList.contains("display");
  const source = place.textContent ?? "";
  const key = keyOf(place);
  const outcome = await background.run(
    { formula: source, display, script: addresses?.script ?? "" },
    () => true,
  );
  if ("failed" in outcome && outcome.failed === "impossible") {
    waiting.unshift(place);
    return false;
  }
  /** @type {Formula} */
  const formula =
    "result" in outcome
      ? /** @type {Formula} */ (outcome.result)
      : { why: null, millis: MOST_MILLIS / 2 };
  spent.set(message, used + formula.millis);
  const made = h("span", {
    class: display ? "formula display" : "formula",
    dir: "ltr",
    tabindex: display && "0",
  });
  if ("tree" in formula) grow(made, formula.tree);
  else leave(made, formula.why ?? TOO_MUCH).append(source);
  keep(key, made);
  return true;
}

/**
 * Makes an element's children. The worker has counted them, and how deep they are nested.
 * @param {Element} parent
 * @param {Tree} tree
 */
function grow(parent, tree) {
  for (const child of tree.children) {
    if (typeof child === "string") {
      parent.append(child);
      continue;
    }
    const space = NAMESPACES.find(([, tags]) => tags.test(child.tag))?.[0];
    if (!space) continue;
    const element = document.createElementNS(space, child.tag);
    for (const [name, value] of Object.entries(child.attributes))
      if (!REFUSED.test(name)) element.setAttribute(name, value);
    if (element instanceof HTMLElement) Object.assign(element.style, child.style);
    grow(element, child);
    parent.append(element);
  }
}

/**
 * @param {string} key
 * @param {HTMLElement} made
 */
function keep(key, made) {
  const nodes = made.getElementsByTagName("*").length;
  kept.set(key, { made, nodes });
  keptNodes += nodes;
  for (const [oldest, { nodes: freed }] of kept) {
    if (oldest === key || (kept.size <= KEPT && keptNodes <= KEPT_NODES)) break;
    kept.delete(oldest);
    keptNodes -= freed;
  }
}

/**
 * Puts there what was drawn, where there is room for it.
 * @param {HTMLElement} place
 * @returns {number} how many nodes that are
 */
function put(place) {
  const found = kept.get(keyOf(place));
  if (!found) return 0;
  places.unobserve(place);
  const written = place.closest(".tail");
  if (written && nodesIn(written) + found.nodes > MOST_NODES_WRITTEN) return 0;
  if (nodesIn(messageOf(place)) + found.nodes > MOST_NODES) {
    leave(place, TOO_MUCH);
    return 0;
  }
  place.replaceWith(found.made.cloneNode(true));
  return found.nodes;
}

/** @param {Element} place */
const keyOf = (place) => `${place.classList.contains("display")}:${place.textContent}`;

/** @param {Element} place */
const messageOf = (place) => place.closest(".md") ?? place.getRootNode();

/** @param {Node} message */
const nodesIn = (message) =>
  message instanceof Element ? message.querySelectorAll(".formula *").length : 0;

/**
 * Its source stays.
 * @param {HTMLElement} place
 * @param {string} why
 */
function leave(place, why) {
  place.classList.add("unreadable");
  place.title = why;
  return place;
}

function loadStyle() {
  const link = h("link", { rel: "stylesheet", href: addresses?.style ?? "" });
  return new Promise((resolve) => {
    link.addEventListener("load", resolve);
    link.addEventListener("error", resolve);
    document.head.append(link);
  });
}
