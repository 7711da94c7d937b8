/** The line above which the model no longer sees: one element that moves through the transcript. */

import { h, reducedMotion, setText } from "../elements/dom.js";
import { say, sayCount } from "../words/say.js";

const MOVE = 260;

export class Horizon {
  /** @param {() => void} openSummary */
  constructor(openSummary) {
    this.words = h("span", {});
    this.line = h("div", { class: "horizon", role: "separator" }, this.words);
    this.summary = h("button", { type: "button", class: "summary-open", "aria-haspopup": "dialog", hidden: true, on: { click: openSummary } });
    this.element = h(
      "section",
      { class: "horizon-place", tabindex: "-1", "aria-label": say("Horizon") },
      this.line, this.summary,
    );
  }

  /**
   * Places the line before `next`, or at the end where that is null, and describes what is above it.
   * @param {Element} column
   * @param {Element|null} next
   * @param {{above: number, empty: boolean, summary: {words: string, sent: boolean}}} what
   *   `above`: messages that aren't sent; `empty`: nothing of the conversation is below the line;
   *   `summary`: the label of its control, "" for none, and whether it is sent in place of the messages above
   */
  place(column, next, { above, empty, summary }) {
    setText(this.summary, summary.words);
    this.summary.hidden = !summary.words;
    const sentence = summary.sent
      ? say("Of everything above this line the model sees only a summary")
      : empty
        ? say("The model sees nothing above this line, only your next message")
        : say("The model no longer sees anything above this line");
    setText(this.words, sentence);
    this.line.setAttribute("aria-label", say("{sentence}. {messages} above will not be sent.", { sentence, messages: sayCount("{count} message", "{count} messages", above) }));
    if (this.element.parentNode === column && this.element.nextElementSibling === next) return;
    const from = this.element.isConnected ? this.element.getBoundingClientRect().top : null;
    column.insertBefore(this.element, next);
    if (from !== null) this.#glide(from);
  }

  remove() {
    this.element.remove();
  }

  /**
   * Moves from its old place; never further than a screen, or it would be a blur.
   * @param {number} from
   */
  #glide(from) {
    if (reducedMotion()) return;
    const way = from - this.element.getBoundingClientRect().top;
    if (!way) return;
    const start = Math.max(-innerHeight, Math.min(innerHeight, way));
    this.element.animate(
      [{ transform: `translateY(${start}px)` }, { transform: "none" }],
      { duration: MOVE, easing: "cubic-bezier(.2, .7, .2, 1)" },
    );
  }
}
