/** The line that says why the provider is asked again, and in how many seconds. */

import { h, setText } from "../elements/dom.js";
import { describeWaiting } from "../state/format.js";

/** @import { Waiting } from "../types/state.js" */

export class WaitingLine {
  constructor() {
    this.element = h("p", { class: "waiting-line", hidden: true });
    /** @type {Waiting|null} */
    this.shown = null;
    this.timer = 0;
  }

  /** @param {Waiting|null} waiting */
  update(waiting) {
    if (waiting === this.shown) return;
    this.shown = waiting;
    clearInterval(this.timer);
    this.element.hidden = !waiting;
    if (!waiting) return setText(this.element, "");
    const { sentence, seconds } = waiting;
    const until = performance.now() + seconds * 1000;
    const draw = () => {
      const left = Math.ceil((until - performance.now()) / 1000);
      setText(this.element, describeWaiting(sentence, left));
      return left > 0;
    };
    if (draw())
      this.timer = window.setInterval(
        () => (this.element.isConnected && draw()) || clearInterval(this.timer),
        1000,
      );
  }
}
