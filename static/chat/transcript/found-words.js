/** Marks the words that a search found in a message, where they stand in its text, until the next click or letter. */

const WORDS = /[\p{L}\p{M}\p{N}]+/gu;
// Marks of Markdown, ends of lines and what stands between two paragraphs.
const GAP = "[^\\p{L}\\p{M}\\p{N}]*";

/**
 * @param {HTMLElement} message
 * @param {[string, boolean][]} parts of the text around the words, and whether each was looked for
 * @returns {Promise<Range|null>} the first of the words; null where they aren't seen, as in folded thoughts
 */
export async function markFound(message, parts) {
  // A long text stands there as it was written until it is formatted.
  for (let tries = 0; tries < 60 && message.querySelector(".unparsed"); tries += 1)
    await new Promise(requestAnimationFrame);
  const [first = null] = findWords(message, parts);
  if (!first || !("highlights" in CSS)) return first;
  const draw = () => CSS.highlights.set("found", new Highlight(...findWords(message, parts)));
  draw();
  // Code that gets its colours has other nodes afterwards.
  const redrawn = new MutationObserver(draw);
  redrawn.observe(message, { subtree: true, childList: true });
  const clear = () => (redrawn.disconnect(), CSS.highlights.delete("found"));
  for (const event of ["pointerdown", "input"])
    addEventListener(event, clear, { once: true, capture: true });
  return first;
}

/**
 * The words at the place that the excerpt shows: all of it, or as far as the page has the text as it was read there.
 * @param {HTMLElement} message
 * @param {[string, boolean][]} parts
 */
function findWords(message, parts) {
  /** @type {{node: Text, start: number}[]} */
  const nodes = [];
  let text = "";
  const walker = document.createTreeWalker(message, NodeFilter.SHOW_TEXT);
  while (walker.nextNode()) {
    const node = /** @type {Text} */ (walker.currentNode);
    if (!node.parentElement?.checkVisibility() || node.parentElement.closest("button")) continue;
    nodes.push({ node, start: text.length });
    text += node.data;
  }
  const words = parts.flatMap(([said, marked]) =>
    (said.match(WORDS) ?? []).map((word) => ({ word, marked })),
  );
  const first = words.findIndex(({ marked }) => marked);
  const last = words.findLastIndex(({ marked }) => marked);
  for (const some of [words, words.slice(first, last + 1), words.slice(first, first + 1)]) {
    const place = new RegExp(some.map(({ word }) => `(${word})`).join(GAP), "du").exec(text);
    const places = /** @type {[number, number][]} */ (place?.indices?.slice(1) ?? []);
    const found = places.filter((_, at) => some[at].marked);
    if (found.length) return found.map(([start, end]) => rangeOf(nodes, start, end - 1));
  }
  return [];
}

/** @param {{node: Text, start: number}[]} nodes @param {number} begin the first letter @param {number} end the last one */
function rangeOf(nodes, begin, end) {
  const [from, to] = [begin, end].map((at) => nodes.findLast(({ start }) => start <= at));
  const range = new Range();
  if (from) range.setStart(from.node, begin - from.start);
  if (to) range.setEnd(to.node, end + 1 - to.start);
  return range;
}
