/** The exact values that a summary doesn't have, under its text: a click keeps one. */

import { h, setChildren } from "../elements/dom.js";
import { icon } from "../elements/icons.js";
import { keepValues, missingValues } from "../state/compaction.js";
import { say } from "../words/say.js";

export class LostChips {
  /**
   * @param {HTMLTextAreaElement} text
   * @param {() => void} kept the text was changed by a click
   */
  constructor(text, kept) {
    this.text = text;
    this.kept = kept;
    this.title = say("Not in the summary:");
    this.element = h("div", { class: "lost-box", role: "group", "aria-label": this.title });
    /** @type {{text: string}[]} */
    this.lost = [];
    text.addEventListener("input", () => this.show(this.lost));
  }

  /** @param {{text: string}[]} lost those that stand in the text meanwhile aren't shown */
  show(lost) {
    this.lost = lost;
    const missing = missingValues(this.text.value, lost);
    this.element.hidden = !missing.length;
    const all = h(
      "button",
      { type: "button", class: "link", on: { click: () => this.#keep(missing, 0) } },
      say("Keep all"),
    );
    setChildren(
      this.element,
      h("p", {}, h("b", {}, this.title), " ", say("Click what must not get lost.")),
      h(
        "div",
        { class: "lost-values" },
        missing.map((value, at) =>
          h(
            "button",
            {
              type: "button",
              class: "lost-value",
              "aria-label": say("Keep {value}", { value }),
              on: { click: () => this.#keep([value], at) },
            },
            icon("plus", 11),
            value,
          ),
        ),
        missing.length > 1 && all,
      ),
    );
  }

  /**
   * @param {string[]} values
   * @param {number} at the place of the first among those that are shown
   */
  #keep(values, at) {
    this.text.value = keepValues(this.text.value, values);
    this.kept();
    this.show(this.lost);
    const chips = this.element.querySelectorAll("button");
    (chips[Math.min(at, chips.length - 1)] ?? this.text).focus();
    this.text.scrollTop = this.text.scrollHeight;
  }
}
