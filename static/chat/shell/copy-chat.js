/** Copies a whole conversation to the clipboard, as the export for reading gives it. */

import { copyWhenThere } from "../elements/clipboard.js";
import { showError, toast } from "../elements/toast.js";
import { getText } from "../net/http.js";
import { say } from "../words/say.js";

/** @typedef {"markdown"|"text"} Form */

/**
 * Call this while a key or a button is being pressed: a browser allows it then only.
 * @param {string} conversation its address
 * @param {Form} form
 */
export async function copyChat(conversation, form) {
  try {
    const done = await copyWhenThere(getText(`${conversation}/export?format=${form}`));
    if (!done)
      toast(say("Copying isn't allowed here. Export the chat instead."), { about: "copied" });
    else
      toast(form === "markdown" ? say("Copied as Markdown.") : say("Copied as text."), {
        about: "copied",
      });
  } catch (error) {
    showError(error);
  }
}
