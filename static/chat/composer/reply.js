/** Replying to one message: the bar above the message box, and the quote above a sent reply. */

import { byId, h, setChildren } from "../elements/dom.js";
import { storeReply, loadReply } from "../net/drafts.js";
import { shorten } from "../state/format.js";
import { icon } from "../elements/icons.js";

/** @import { Quote } from "../types/wire.js" */


/** @param {Quote} quote */
const who = (quote) => (quote.role === "user" ? "your message" : "the answer");

/** The bar above the message box. */
export class ReplyBar {
  /** @param {() => void} changed called after the quote changed */
  constructor(changed) {
    this.changed = changed;
    this.conversation = "";
    /** @type {Quote|null} */
    this.quote = null;
    this.bar = h("div", { class: "reply-bar", role: "group", "aria-label": "Reply", hidden: true });
    byId("draft").before(this.bar);
  }

  /** @param {string} conversation */
  enter(conversation) {
    this.conversation = conversation;
    this.#show(loadReply(conversation));
  }

  /** @param {Quote|null} quote */
  set(quote) {
    storeReply(this.conversation, quote);
    this.#show(quote);
    this.changed();
  }

  /** Takes the quote out, to be sent. */
  take() {
    const { quote } = this;
    if (quote) this.set(null);
    return quote;
  }

  /** @returns {boolean} false where nothing is replied to */
  cancel() {
    return this.take() !== null;
  }

  /** @param {Quote|null} quote */
  #show(quote) {
    this.quote = quote;
    this.bar.hidden = !quote;
    if (!quote) return setChildren(this.bar);
    const cancel = h("button", {
      type: "button", class: "icon", "aria-label": "Don't reply to it", title: "Don't reply to it (Esc)",
      on: { click: () => (this.cancel(), byId("draft").focus()) },
    }, icon("close", 14));
    setChildren(this.bar, icon("reply", 14),
      h("p", {}, h("span", { class: "quiet" }, `Replying to ${who(quote)} `), `“${shorten(quote.text, 160)}”`),
      cancel);
  }
}

/**
 * The line above a reply, which leads to the message it replies to.
 * @param {Quote} quote
 * @param {(seq: number) => void} go
 */
export function quoteLink(quote, go) {
  return h("button", {
    type: "button", class: "quoted", "aria-label": `Reply to ${who(quote)} “${shorten(quote.text, 60)}”. Go to it.`,
    on: { click: () => go(quote.seq) },
  }, icon("reply", 13), h("span", {}, shorten(quote.text, 120)));
}
