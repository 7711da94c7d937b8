/** Replying to one message: the bar above the message box. */

import { byId, h, pressable, setChildren } from "../elements/dom.js";
import { icon } from "../elements/icons.js";
import { describeQuoted } from "../message/quote.js";
import { loadReply, storeReply } from "../net/drafts.js";
import { shorten } from "../state/format.js";
import { say } from "../words/say.js";

/** @import { Quote } from "../types/wire.js" */

/** The bar above the message box. */
export class ReplyBar {
  /** @param {() => void} changed called after the quote changed */
  constructor(changed) {
    this.changed = changed;
    this.conversation = "";
    /** @type {Quote|null} */
    this.quote = null;
    this.bar = h("div", {
      class: "reply-bar",
      role: "group",
      "aria-label": say("Reply"),
      hidden: true,
    });
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
    const cancel = pressable(
      {
        class: "icon",
        "aria-label": say("Don't reply to it"),
        title: say("Don't reply to it (Esc)"),
      },
      () => (this.cancel(), byId("draft").focus()),
      icon("close", 14),
    );
    setChildren(
      this.bar,
      icon("reply", 14),
      h(
        "p",
        { class: "cut" },
        h(
          "span",
          { class: "quiet" },
          say("Replying to {quoted}", { quoted: describeQuoted(quote) }),
          " ",
        ),
        `“${shorten(quote.text, 160)}”`,
      ),
      cancel,
    );
  }
}
