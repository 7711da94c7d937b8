/** A list that has nothing yet: a drawing, one line, and what to do. */

import { h } from "./dom.js";

/**
 * @param {"chats"|"search"|"bookmarks"|"archive"|"prompts"} kind of drawing
 * @param {string} words
 * @param {HTMLElement} action
 */
export const emptyState = (kind, words, action) =>
  h("div", { class: `empty empty-${kind}` }, h("p", { role: "status" }, words), action);
