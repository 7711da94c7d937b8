/** In the chat's head: that links to this chat are live, and until when. */

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
    const id = conversation && !room ? conversationId : "";
    if (id === this.conversation) return;
    this.conversation = id;
    this.button.hidden = true;
    if (id && this.shares) void this.refresh();
  }

  /** A mark that can't be loaded now is missing until the next time. */
  async refresh() {
    this.shares = true;
    const id = this.conversation;
    /** @type {SharedLinks|null} */
    const found = await getJson(`${this.page.urls.conversations}/${id}/shares`).catch(() => null);
    if (!found || id !== this.conversation) return;
    const ends = found.shares
      .map((link) => link.ends)
      .sort()
      .at(-1);
    this.button.hidden = !ends;
    if (!ends) return;
    const words = say("Shared · until {date}", { date: formatDay(ends) });
    this.button.title = words;
    setChildren(this.button, icon("link", 14), h("span", {}, words));
  }
}
