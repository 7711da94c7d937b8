/** The tables of the panel. */

import { h } from "../elements/dom.js";

/** @import { Child, Props } from "../elements/dom.js" */

/**
 * A table that scrolls by itself where the panel is too narrow for it.
 * @param {string} name its class
 * @param {string} caption for screen readers; "" where the frame has a name
 * @param {Child[]} heads
 * @param {Child[]} rows
 * @param {Props} [frame] of the element around it
 */
export const table = (name, caption, heads, rows, frame = {}) =>
  h(
    "div",
    { class: "scroll", ...frame },
    h(
      "table",
      { class: name },
      caption && h("caption", { class: "hidden" }, caption),
      h(
        "thead",
        {},
        h(
          "tr",
          {},
          heads.map((one) => h("th", { scope: "col" }, one)),
        ),
      ),
      h("tbody", {}, rows),
    ),
  );

/**
 * What only screen readers say.
 * @param {string} words
 */
export const unseen = (words) => h("span", { class: "hidden" }, words);

/**
 * What stands where there is nothing.
 * @param {string} words what that means
 */
export const none = (words) => h("span", { class: "none", "aria-label": words }, "–");
