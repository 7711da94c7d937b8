/** The list of conversations as far as it was loaded, page by page. */

import { getJson } from "../net/http.js";

/** @import { Conversation } from "../types/wire.js" */

export class ConversationPages {
  /** @param {string} path */
  constructor(path) {
    this.path = path;
    /** @type {Conversation[]} */
    this.loaded = [];
    this.more = false;
    this.question = 0;
  }

  /**
   * Loads the first page again; of several requests under way only the newest counts.
   * @returns {Promise<boolean>} whether the list is the answer to this request
   */
  async refresh() {
    const mine = (this.question += 1);
    const { conversations, more } = await this.#page(null);
    if (mine !== this.question) return false;
    const further = this.#below(conversations);
    this.loaded = [...conversations, ...further];
    this.more = further.length ? this.more : more;
    return true;
  }

  /**
   * Loads the page below what is shown.
   * @returns {Promise<boolean>} whether the list has changed
   */
  async loadMore() {
    const mine = (this.question += 1);
    const last = this.loaded.at(-1);
    if (!this.more || !last) return false;
    const { conversations, more } = await this.#page(last);
    if (mine !== this.question) return false;
    // One that was used meanwhile has moved up, and is there already.
    const known = new Set(this.loaded.map(({ id }) => id));
    this.loaded = [...this.loaded, ...conversations.filter(({ id }) => !known.has(id))];
    this.more = more;
    return true;
  }

  /** @param {string} id of a conversation that is gone */
  remove(id) {
    this.loaded = this.loaded.filter((one) => one.id !== id);
  }

  /**
   * What was loaded below the first page.
   * @param {Conversation[]} first
   */
  #below(first) {
    const last = first.at(-1);
    if (!last || this.loaded.length <= first.length) return [];
    const known = new Set(first.map(({ id }) => id));
    return this.loaded.filter(({ id, updated }) => updated <= last.updated && !known.has(id));
  }

  /**
   * @param {Conversation|null} last
   * @returns {Promise<{conversations: Conversation[], more: boolean}>}
   */
  #page(last) {
    const query = new URLSearchParams();
    if (last) query.set("after", `${last.updated},${last.id}`);
    return getJson(query.size ? `${this.path}?${query}` : this.path);
  }
}
