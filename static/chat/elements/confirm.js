/** The dialog that asks before something irreversible. */

import { byId, h, setChildren } from "./dom.js";
import { say } from "../words/say.js";

/**
 * Asks before something irreversible. Esc and Cancel mean no.
 * @param {{title: string, text: string, yes: string}} question
 * @returns {Promise<boolean>}
 */
export function askToConfirm({ title, text, yes }) {
  const dialog = byId("ask", HTMLDialogElement);
  setChildren(
    dialog,
    h(
      "form",
      { method: "dialog" },
      h("h2", { id: "ask-title" }, title),
      h("p", {}, text),
      h(
        "div",
        { class: "box-foot" },
        h("button", { value: "no", class: "plain-button" }, say("Cancel")),
        h("button", { value: "yes", class: "primary" }, yes),
      ),
    ),
  );
  dialog.returnValue = "no";
  dialog.showModal();
  return new Promise((resolve) => {
    dialog.addEventListener("close", () => resolve(dialog.returnValue === "yes"), { once: true });
  });
}
