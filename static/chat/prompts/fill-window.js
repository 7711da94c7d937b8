/** Asks for the blanks of a prompt. Nothing that is filled in is kept. */

import { fillDialog } from "../elements/dialog.js";
import { h, setText } from "../elements/dom.js";
import { blanksOf, fillBlanks } from "../state/blanks.js";
import { say } from "../words/say.js";

/** @import { Blank } from "../state/blanks.js" */

/**
 * @param {string} name of the prompt
 * @param {string} text
 * @returns {Promise<string|null>} the filled text; null where somebody closed the window
 */
export function askForBlanks(name, text) {
  const dialog = h("dialog", { class: "box", id: "blanks", "aria-labelledby": "blanks-title" });
  const fields = blanksOf(text).map((blank) => ({ name: blank.name, field: fieldOf(blank) }));
  const filled = () => fillBlanks(text, new Map(fields.map((one) => [one.name, one.field.value])));
  const shown = h("p", { class: "blanks-text", dir: "auto" });
  const show = () => setText(shown, filled());
  show();
  fillDialog(
    dialog,
    `/${name}`,
    [shown, ...fields.map((one) => h("label", { class: "prompts-field" }, one.name, one.field))],
    [
      h(
        "button",
        { class: "plain-button", value: "", type: "button", on: { click: () => dialog.close() } },
        say("Cancel"),
      ),
      h("button", { class: "primary", value: "use" }, say("Put into the box")),
    ],
  );
  dialog.addEventListener("input", show);
  // Enter goes on to the next field, and from the last one into the message box.
  dialog.addEventListener("keydown", (event) => {
    const at = fields.findIndex(({ field }) => field === event.target);
    if (event.key !== "Enter" || event.isComposing || at < 0) return;
    event.preventDefault();
    if (at + 1 < fields.length) fields[at + 1].field.focus();
    else dialog.close("use");
  });
  document.body.append(dialog);
  dialog.showModal();
  fields[0].field.focus();
  return new Promise((resolve) => {
    dialog.addEventListener("close", () => {
      dialog.remove();
      resolve(dialog.returnValue === "use" ? filled() : null);
    });
  });
}

/** @param {Blank} blank */
function fieldOf({ choices, usual }) {
  if (choices.length)
    return h(
      "select",
      {},
      choices.map((one) => h("option", {}, one)),
    );
  return h("input", { autocomplete: "off", placeholder: usual, maxlength: 2_000 });
}
