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
  announce(
    done
      ? say("Copied.")
      : say("Copying isn't allowed here. Select the text and copy it yourself."),
  );
  if (button) sayOn(button, done ? say("Copied") : say("Not allowed"));
  return done;
}

/**
 * Words on a button for a while, in place of its own.
 * @param {HTMLElement} button
 * @param {string} words
 */
export function sayOn(button, words) {
  const before = (button.dataset.words ??= button.textContent ?? "");
  setText(button, words);
  setTimeout(() => setText(button, before), 1600);
}

/**
 * Copies a text that is still on its way; false where the browser doesn't allow it. Throws what kept the text from
 * coming.
 *
 * A browser forgets a press after some seconds, Safari already at the first wait. So the clipboard gets the promise
 * itself, at once.
 * @param {Promise<string>} coming
 */
export async function copyWhenThere(coming) {
  const kind = "text/plain";
  const content = coming.then((text) => new Blob([text], { type: kind }));
  content.catch(() => {}); // it is thrown below
  try {
    await navigator.clipboard.write([new ClipboardItem({ [kind]: content })]);
    return true;
  } catch {
    // A refusal, no such interface, or no text.
    return write(await coming);
  }
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
