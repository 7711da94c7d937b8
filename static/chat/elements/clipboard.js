/** Copying to the clipboard. */

import { announce } from "./announce.js";
import { setText } from "./dom.js";
import { say } from "../words/say.js";

/**
 * Copies plain text and confirms it on the button that was pressed, if its words can be changed.
 * @param {string} text
 * @param {HTMLElement} [button]
 */
export async function copy(text, button) {
  const done = await write(text);
  announce(done ? say("Copied.") : say("Copying isn't allowed here. Select the text and copy it yourself."));
  if (!button) return done;
  const before = button.dataset.words ?? button.textContent ?? "";
  button.dataset.words = before;
  setText(button, done ? say("Copied") : say("Not allowed"));
  setTimeout(() => setText(button, before), 1600);
  return done;
}

/** @param {string} text */
async function write(text) {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    return writeOld(text);
  }
}

/**
 * Plain http from another machine has no clipboard interface.
 * @param {string} text
 */
function writeOld(text) {
  const area = document.createElement("textarea");
  area.value = text;
  area.className = "hidden";
  const focused = /** @type {HTMLElement|null} */ (document.activeElement);
  document.body.append(area);
  area.select();
  const done = document.execCommand("copy");
  area.remove();
  focused?.focus();
  return done;
}
