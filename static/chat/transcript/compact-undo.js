/** Takes a compaction back, or applies it again; the other way is one click away. */

import { showError, toast } from "../elements/toast.js";
import { sendChange } from "../net/http.js";
import { say } from "../words/say.js";

/**
 * Says what happened to a compaction.
 * @param {string} words
 * @param {string} path of the conversation's compactions
 * @param {number} version of the compaction
 * @param {boolean} undone
 */
export const tellCompacted = (words, path, version, undone = false) =>
  toast(words, {
    label: undone ? say("Apply again") : say("Undo"),
    act: () => void recall(path, version, undone),
    seconds: 20,
    about: "compaction",
  });

/**
 * @param {string} path
 * @param {number} version
 * @param {boolean} again
 */
export async function recall(path, version, again = false) {
  try {
    await sendChange("POST", `${path}/${again ? "again" : "undo"}`, { version });
  } catch (error) {
    return showError(error);
  }
  const words = again
    ? say("Your summary is sent again.")
    : say("Undone. Your policy decides again which of these messages are sent.");
  tellCompacted(words, path, version, !again);
}
