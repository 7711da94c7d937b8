/** The window with what a person tells every agent. */

import { byId, setText } from "../elements/dom.js";
import { showError, toast } from "../elements/toast.js";
import { getJson, sendChange } from "../net/http.js";
import { say } from "../words/say.js";

/**
 * @param {string} path
 * @param {() => void} changed
 */
export async function openInstructions(path, changed) {
  const dialog = byId("own-instructions", HTMLDialogElement);
  const text = byId("own-text", HTMLTextAreaElement);
  const on = byId("own-on", HTMLInputElement);
  try {
    const kept = await getJson(path);
    text.value = kept.text;
    text.maxLength = kept.longest;
    on.checked = kept.on;
  } catch (error) {
    return showError(/** @type {Error} */ (error));
  }
  setText(byId("own-wrong"), "");
  byId("own-close").onclick = () => dialog.close();
  /** @type {HTMLFormElement} */ (dialog.querySelector("form")).onsubmit = async (event) => {
    event.preventDefault();
    try {
      await sendChange("PUT", path, { text: text.value, on: on.checked });
    } catch (error) {
      return setText(byId("own-wrong"), /** @type {Error} */ (error).message);
    }
    dialog.close();
    changed();
    const sent = text.value.trim() && on.checked;
    toast(
      sent ? say("Saved. Every agent gets them from now on.") : say("Saved. They aren't sent."),
    );
  };
  dialog.showModal();
  text.focus();
}
