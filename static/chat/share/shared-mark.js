/** In the chat's head: the way to share this chat, or until when links to it are live. */

import { byId, h, pressable, setChildren } from "../elements/dom.js";
import { icon } from "../elements/icons.js";
import { getJson } from "../net/http.js";
import { formatDay } from "../state/format.js";
import { say } from "../words/say.js";

/**
 * @import { Page, SharedLinks } from "../types/page.js"
 * @import { State } from "../types/state.js"
 */

export class SharedMark {
  /**
   * @param {Page} page
   * @param {() => void} open
   */
  constructor(page, open) {
    this.page = page;
    this.button = pressable({ class: "shared-mark", hidden: true }, open);
    byId("policy").before(this.button);
    this.conversation = "";
    // Whoever shares nothing is asked for nothing.
    this.shares = page.shares;
  }

  /** @param {State} state */
  update({ conversation, conversationId, room }) {
    const id = conversation && !conversation.temporary && !room ? conversationId : "";
    if (id === this.conversation) return;
    this.conversation = id;
    this.button.hidden = !id;
    this.#draw();
    if (id && this.shares) void this.refresh();
  }

  /** What can't be loaded now is missing until the next time. */
  async refresh() {
    this.shares = true;
    const id = this.conversation;
    /** @type {SharedLinks|null} */
    const found = await getJson(`${this.page.urls.conversations}/${id}/shares`).catch(() => null);
    if (found && id === this.conversation)
      this.#draw(
        found.shares
          .map(({ ends }) => ends)
          .sort()
          .at(-1),
      );
  }

  /** @param {string} [ends] of the link that lasts longest */
  #draw(ends) {
    const words = ends ? say("Shared · until {date}", { date: formatDay(ends) }) : say("Share");
    this.button.classList.toggle("is-shared", Boolean(ends));
    this.button.title = ends ? words : say("Share this chat");
    setChildren(this.button, icon("link", 14), h("span", {}, words));
  }
}
