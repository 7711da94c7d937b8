/** A chat that leaves no trace: its switch before the chat begins, and the line that says so. */

import { byId, h, setChildren, textButton } from "../elements/dom.js";
import { icon } from "../elements/icons.js";
import { showError, toast } from "../elements/toast.js";
import { sendChange } from "../net/http.js";
import { askTemporary, asksTemporary } from "../net/link.js";
import { say } from "../words/say.js";

/**
 * @import { LinkLine } from "./link-line.js"
 * @import { Session } from "../net/session.js"
 * @import { Page } from "../types/page.js"
 * @import { State } from "../types/state.js"
 */

export class TemporaryChat {
  /**
   * @param {Page} page
   * @param {LinkLine} linkLine
   * @param {Session} session
   * @param {() => void} close opens a new chat, so that this one is left
   */
  constructor(page, linkLine, session, close) {
    this.page = page;
    this.session = session;
    this.close = close;
    this.line = byId("temporary-line");
    this.button = byId("temporary");
    this.shown = "";
    setChildren(this.button, icon("temporary"), h("span", {}, say("Temporary")));
    this.button.addEventListener("click", () => {
      session.makeTemporary(!session.temporary);
      // The next key belongs to the message, not to this switch.
      byId("draft").focus();
    });
    if (page.temporary === "off" && asksTemporary()) {
      askTemporary(false);
      linkLine.add(
        say(
          "Your link asked for a temporary chat. That isn't allowed here: what you send is kept.",
        ),
      );
    }
  }

  /** @param {State} state */
  update({ conversation, pending, deleted, room }) {
    const { temporary } = this.session;
    const allowed = this.page.temporary === "allowed";
    const begun = Boolean(conversation || pending.length);
    this.button.hidden = !allowed || begun || Boolean(room);
    this.button.setAttribute("aria-pressed", String(temporary));
    this.line.hidden = !temporary || deleted || Boolean(room);
    const shown = this.line.hidden ? "" : `${begun} ${conversation?.id}`;
    if (this.shown === shown) return; // the same again would take the focus from its buttons
    this.shown = shown;
    setChildren(
      this.line,
      shown && [
        icon(allowed ? "temporary" : "lock", 14),
        h("span", {}, say("Temporary: nothing of this chat is kept after you close it.")),
        !allowed && h("span", {}, say("The administrator has all chats here be temporary.")),
        allowed && conversation && textButton(say("Keep this chat"), () => void this.#keep()),
        conversation && textButton(say("Close temporary chat"), this.close),
      ],
    );
  }

  async #keep() {
    const { conversationId } = this.session.state;
    try {
      await sendChange("POST", `${this.page.urls.conversations}/${conversationId}/keep`);
      toast(say("Kept. The chat is in your list now."));
      byId("draft").focus();
    } catch (error) {
      showError(/** @type {Error} */ (error));
    }
  }
}
