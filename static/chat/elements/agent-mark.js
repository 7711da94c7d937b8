/** An agent's mark before its name: an emoji, or a drawn colour. */

import { h } from "./dom.js";

export const COLOURS = ["green", "teal", "blue", "plum", "rust", "gold"];

/**
 * @param {string} [mark]
 * @returns {HTMLElement|false} false for none
 */
export function agentMark(mark) {
  if (!mark) return false;
  const drawn = COLOURS.includes(mark);
  return h(
    "span",
    { class: drawn ? `agent-mark drawn mark-${mark}` : "agent-mark", "aria-hidden": "true" },
    !drawn && mark,
  );
}
