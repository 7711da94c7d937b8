/** The quote above a reply: the beginning of the message it replies to. */

import { h, pressable } from "../elements/dom.js";
import { icon } from "../elements/icons.js";
import { shorten } from "../state/format.js";
import { say } from "../words/say.js";

/** @import { Quote } from "../types/wire.js" */

/** @param {Quote} quote */
export const describeQuoted = (quote) =>
  quote.role === "user" ? say("your message") : say("the answer");

/**
 * The line above a reply, which leads to the message it replies to.
 * @param {Quote} quote
 * @param {(seq: number) => void} go
 */
export function quoteLink(quote, go) {
  const label = say("Reply to {quoted} “{text}”. Go to it.", {
    quoted: describeQuoted(quote),
    text: shorten(quote.text, 60),
  });
  return pressable(
    { class: "quoted", "aria-label": label },
    () => go(quote.seq),
    icon("reply", 13),
    h("span", { class: "cut" }, shorten(quote.text, 120)),
  );
}
