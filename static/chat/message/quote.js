/** The quote above a reply: the beginning of the message it replies to. */

import { h } from "../elements/dom.js";
import { icon } from "../elements/icons.js";
import { shorten } from "../state/format.js";

/** @import { Quote } from "../types/wire.js" */

/** @param {Quote} quote */
export const describeQuoted = (quote) => (quote.role === "user" ? "your message" : "the answer");

/**
 * The line above a reply, which leads to the message it replies to.
 * @param {Quote} quote
 * @param {(seq: number) => void} go
 */
export function quoteLink(quote, go) {
  return h("button", {
    type: "button", class: "quoted", "aria-label": `Reply to ${describeQuoted(quote)} “${shorten(quote.text, 60)}”. Go to it.`,
    on: { click: () => go(quote.seq) },
  }, icon("reply", 13), h("span", {}, shorten(quote.text, 120)));
}
