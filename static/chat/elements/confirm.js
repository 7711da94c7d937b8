/** The dialog that asks before something irreversible. */

import { fillDialog } from "./dialog.js";
import { byId, h } from "./dom.js";
import { say } from "../words/say.js";

/**
 * Asks before something irreversible. Esc and Cancel mean no.
 * @param {{title: string, text: string, yes: string}} question
 * @returns {Promise<boolean>}
 */
export function askToConfirm({ title, text, yes }) {
  const dialog = byId("ask", HTMLDialogElement);
  fillDialog(
    dialog,
    title,
    [h("p", {}, text)],
    [
      h("button", { value: "no", class: "plain-button" }, say("Cancel")),
      h("button", { value: "yes", class: "primary" }, yes),
    ],
  );
  dialog.returnValue = "no";
  dialog.showModal();
  return new Promise((resolve) => {
    dialog.addEventListener("close", () => resolve(dialog.returnValue === "yes"), { once: true });
  });
}
