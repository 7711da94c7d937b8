/** The line under a message that is sent although it is above the horizon, or left out although it is below. */

import { h, setChildren, textButton } from "../elements/dom.js";
import { icon } from "../elements/icons.js";
import { say } from "../words/say.js";

/** @import { ContextMark } from "../state/items.js" */

export class MarkLine {
  /** @param {Record<string, {label: string, act: (mark: NonNullable<ContextMark>) => void}>} [offers]
   *   what can be done, by the mark's kind */
  constructor(offers = {}) {
    this.offers = offers;
    this.element = h("p", { class: "mark", hidden: true });
    this.drawn = "";
  }

  /** @param {ContextMark} mark */
  update(mark) {
    // Drawn again only where it changed: somebody may be about to press its button.
    const drawn = JSON.stringify(mark);
    if (drawn === this.drawn) return;
    this.drawn = drawn;
    this.element.hidden = !mark;
    this.element.className = `mark ${mark?.kind ?? ""}`;
    if (!mark) return setChildren(this.element);
    const sent = mark.kind === "sent";
    const offer = this.offers[mark.kind];
    setChildren(
      this.element,
      icon(sent ? "pin" : "slash", 13),
      h(
        "span",
        {},
        sent
          ? say("Still sent: {reason}", { reason: mark.sentence })
          : mark.kind === "gave"
            ? say("Made room: {reason}", { reason: mark.sentence })
            : say("Not sent: {reason}", { reason: mark.sentence }),
        offer && [" · ", textButton(offer.label, () => offer.act(mark))],
      ),
    );
  }
}
