/** Sentences for screen readers. */

import { byId } from "./dom.js";

let timer = 0;

/**
 * Announces a sentence to screen readers. After a short wait: of sentences in quick succession only the
 * last is announced, and the same sentence is announced a second time.
 * @param {string} sentence
 */
export function announce(sentence) {
  const status = byId("status");
  status.textContent = "";
  clearTimeout(timer);
  timer = window.setTimeout(() => (status.textContent = sentence), 80);
}
