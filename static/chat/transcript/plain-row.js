/** A message that couldn't be drawn as it should be: who said it, and its text as it was written. */

import { textOf } from "../actions/table.js";
import { h, setText } from "../elements/dom.js";
import { say } from "../words/say.js";

/** @import { ItemGroup } from "../state/items.js" */

export class PlainRow {
  /** @param {ItemGroup} group */
  constructor(group) {
    const { role, name, seq } = group.items[0];
    this.text = h("div", { class: "plain", dir: "auto" });
    this.element = h(
      "article",
      { class: `m ${role}`, tabindex: "-1", "data-seq": seq },
      h("div", { class: "m-head" }, h("h2", { class: "who" }, name)),
      h(
        "div",
        { class: "body" },
        h(
          "p",
          { class: "plain-note" },
          say("Shown as plain text: this message couldn't be drawn."),
        ),
        this.text,
      ),
    );
    this.update(group);
  }

  /** @param {ItemGroup} group */
  update(group) {
    setText(this.text, textOf(group));
  }

  updateStatus() {}
}
