/** What is said under a message that is sent from above the line, or left out below it. */

import { h, put } from "./dom.js";
import { icon } from "./icons.js";

export class MarkLine {
  constructor() {
    this.element = h("p", { class: "mark", hidden: true });
  }

  /** @param {import("./items.js").Mark} mark */
  update(mark) {
    this.element.hidden = !mark;
    this.element.className = `mark ${mark?.kind ?? ""}`;
    if (!mark) return put(this.element);
    const sent = mark.kind === "sent";
    put(this.element, icon(sent ? "pin" : "slash", 13), `${sent ? "Still sent" : "Not sent"}: ${mark.sentence}`);
  }
}
