/** The line where a person asked to forget what is above, with a button to remove it. */

import { h, textButton } from "../elements/dom.js";
import { say } from "../words/say.js";

export class ForgetLine {
  /** @param {() => void} remove */
  constructor(remove) {
    this.element = h(
      "section",
      { class: "forget-place", tabindex: "-1", "aria-label": say("Forgotten above") },
      h(
        "p",
        { class: "forget" },
        h("span", {}, say("You asked to forget everything above")),
        textButton(say("Remember again"), remove),
      ),
    );
  }
}
