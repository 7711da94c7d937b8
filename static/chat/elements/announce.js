import { byId } from "./dom.js";

let timer = 0;

/**
 * Says a sentence to screen readers, once. A short wait lets sentences that follow each other
 * at once become one, and makes the same sentence heard a second time.
 * @param {string} sentence
 */
export function announce(sentence) {
  const status = byId("status");
  status.textContent = "";
  clearTimeout(timer);
  timer = window.setTimeout(() => (status.textContent = sentence), 80);
}
