/** How full the next request is: a bar, and the same in words. */

import { byId, h, pressable, setChildren, setText, textButton } from "../elements/dom.js";
import { describeExchanges } from "../state/exchanges.js";
import { describeTooMany, formatNumber } from "../state/format.js";
import { describePrice, describeWhole } from "../state/price.js";
import { tokensTooMany } from "../state/state.js";
import { say, sayCount } from "../words/say.js";

/** @import { State } from "../types/state.js" */

// From this share of the limit on, room can be made beside the numbers.
const HALF = 0.5;
// Below it the limit doesn't matter: the bar would look empty.
const LITTLE = 0.05;

export class Meter {
  /**
   * @param {(() => void)|null} look shows what the numbers are made of; null where this person may not see it
   * @param {() => void} compact
   */
  constructor(look, compact) {
    this.fill = h("i", {});
    this.words = look
      ? pressable({ class: "meter-words" }, look)
      : h("span", { class: "meter-words" });
    this.spoken = h("span", { class: "hidden" });
    const title = say("Make room: send older messages as a short summary");
    this.compact = textButton(say("Compact…"), () => compact(), { title });
    setChildren(
      byId("meter"),
      h("span", { class: "meter-bar", "aria-hidden": "true" }, this.fill),
      this.words,
      !look && this.spoken,
      this.compact,
    );
    byId("meter").hidden = true;
  }

  /**
   * @param {State} state
   * @param {boolean} begun something was said or is being typed: before that there is nothing to measure
   */
  update(state, begun) {
    const { decision, problem } = state;
    byId("meter").hidden = !decision || !begun || problem?.code === "too_long";
    if (!decision) return;
    const { prompt_tokens: tokens, limit } = decision;
    const share = limit > 0 ? Math.min(1, tokens / limit) : 0;
    this.fill.style.width = `${(share * 100).toFixed(1)}%`;
    this.fill.classList.toggle("full", share > 0.9);
    const half = share >= HALF && (decision.exchanges?.stored ?? 0) >= 2;
    const little = share < LITTLE;
    byId("meter").classList.toggle("half", half);
    byId("meter").classList.toggle("little", little);
    this.compact.hidden = !half;
    const tooMany = tokensTooMany(decision);
    byId("meter").classList.toggle("over", tooMany > 0);
    const numbers = { tokens: formatNumber(tokens), limit: formatNumber(limit) };
    const fits = little
      ? sayCount("{count} token", "{count} tokens", tokens)
      : say("{tokens} of {limit} tokens", numbers);
    const room = tooMany ? describeTooMany(decision) : fits;
    // Nothing is stored of a chat that hasn't begun.
    const exchanges = tooMany
      ? ""
      : describeExchanges(decision) || (isAsked(state) ? say("nothing earlier to send") : "");
    const price = (!tooMany && decision.price) || null;
    const cost = price ? describePrice(price) : "";
    byId("meter").title = [
      say(
        "What your next message is sent with. A token is a piece of a word; the model takes {limit} of them.",
        { limit: formatNumber(limit) },
      ),
      price && describeWhole(price),
    ]
      .filter(Boolean)
      .join(" ");
    setChildren(
      this.words,
      h("span", { class: "meter-room" }, room),
      (exchanges || cost) && h("span", { class: "dot" }, " · "),
      h(
        "span",
        { class: "meter-holds" },
        exchanges,
        exchanges && cost && " · ",
        cost && h("span", { class: "cost" }, cost),
      ),
    );
    const spoken = [
      exchanges
        ? say("Next request: {tokens} of {limit} tokens, {exchanges}.", { ...numbers, exchanges })
        : say("Next request: {room}.", { room }),
      price && describeWhole(price),
    ]
      .filter(Boolean)
      .join(" ");
    setText(this.spoken, spoken);
    if (this.words instanceof HTMLButtonElement) this.words.setAttribute("aria-label", spoken);
    else this.words.setAttribute("aria-hidden", "true");
  }
}

/** @param {State} state */
const isAsked = ({ messages }) => messages.some(({ role }) => role === "user");
