/** The palette's window: it is there with the page, so that it opens at once and gets the first letters. */

import { h } from "../elements/dom.js";
import { say } from "../words/say.js";

export class PaletteBox {
  constructor() {
    const label = say("Find a chat, a message or an action");
    this.input = h("input", {
      type: "text",
      class: "palette-find",
      role: "combobox",
      "aria-expanded": "true",
      "aria-controls": "palette-list",
      "aria-autocomplete": "list",
      "aria-label": label,
      placeholder: label,
      autocomplete: "off",
      spellcheck: "false",
    });
    this.list = h("div", {
      class: "palette-list",
      id: "palette-list",
      role: "listbox",
      "aria-label": say("What was found"),
    });
    this.dialog = h(
      "dialog",
      { class: "box palette", id: "palette", "aria-label": label },
      this.input,
      this.list,
    );
    this.dialog.addEventListener(
      "click",
      (event) => event.target === this.dialog && this.dialog.close(),
    );
  }

  open() {
    if (!this.dialog.isConnected) document.body.append(this.dialog);
    this.input.value = "";
    this.dialog.showModal();
  }
}
