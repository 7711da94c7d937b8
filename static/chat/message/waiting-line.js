/** The provider can't answer now and is asked again: why, and in how many seconds. */

import { h, say } from "../elements/dom.js";

/**
 * "The model is busy. Trying again in 3 s."
 * @param {string} sentence
 * @param {number} seconds whole ones; 0 where it isn't known when
 */
export const waitingWords = (sentence, seconds) =>
  `${sentence} Trying again${seconds > 0 ? ` in ${seconds} s` : ""}.`;

export class WaitingLine {
  constructor() {
    this.element = h("p", { class: "waiting-line", hidden: true });
    /** @type {import("../state/state.js").Waiting|null} */
    this.shown = null;
    this.timer = 0;
  }

  /** @param {import("../state/state.js").Waiting|null} waiting */
  update(waiting) {
    if (waiting === this.shown) return;
    this.shown = waiting;
    clearInterval(this.timer);
    this.element.hidden = !waiting;
    if (!waiting) return say(this.element, "");
    const { sentence, seconds } = waiting;
    const until = performance.now() + seconds * 1000;
    const draw = () => {
      const left = Math.ceil((until - performance.now()) / 1000);
      say(this.element, waitingWords(sentence, left));
      return left > 0;
    };
    if (draw()) this.timer = window.setInterval(() => (this.element.isConnected && draw()) || clearInterval(this.timer), 1000);
  }
}
