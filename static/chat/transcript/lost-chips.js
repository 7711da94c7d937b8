/** The exact values and instructions that a summary doesn't have, under its text: a click keeps one. */

import { h, pressable, setChildren, textButton } from "../elements/dom.js";
import { icon } from "../elements/icons.js";
import { keepValues, missingValues, withUnit } from "../state/compaction.js";
import { say } from "../words/say.js";

/** @import { Lost } from "../state/compaction.js" */

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
    /** @type {Lost[]} */
    this.lost = [];
    text.addEventListener("input", () => this.show(this.lost));
  }

  /** @param {Lost[]} lost those that stand in the text meanwhile aren't shown */
  show(lost) {
    const held = this.#buttons.findIndex((one) => one === document.activeElement);
    this.lost = lost;
    const missing = missingValues(this.text.value, lost);
    this.element.hidden = !missing.length;
    const all = textButton(say("Keep all"), () => this.#keep(missing, 0));
    const told = say("Choose what must not be lost.");
    setChildren(
      this.element,
      h("p", {}, h("b", {}, this.title), " ", told, " ", missing.length > 1 && all),
      h(
        "div",
        { class: "lost-values" },
        missing.map((value, at) =>
          pressable(
            {
              class: "lost-value",
              "aria-label": say("Keep {value}", { value: withUnit(value) }),
            },
            () => this.#keep([value], at),
            icon("plus", 11),
            withUnit(value),
          ),
        ),
      ),
    );
    if (held >= 0) this.#focus(held);
  }

  get #buttons() {
    return [...this.element.querySelectorAll("button")];
  }

  /** @param {number} at the place of a button; where there is none, the text gets the focus */
  #focus(at) {
    (this.#buttons.at(Math.min(at, this.#buttons.length - 1)) ?? this.text).focus();
  }

  /**
   * @param {Lost[]} values
   * @param {number} at the place of the first among those that are shown
   */
  #keep(values, at) {
    this.text.value = keepValues(this.text.value, values);
    this.kept();
    this.show(this.lost);
    // "Keep all" comes first, where there are several.
    this.#focus(at + Number(this.#buttons.length > 1));
    this.text.scrollTop = this.text.scrollHeight;
  }
}
