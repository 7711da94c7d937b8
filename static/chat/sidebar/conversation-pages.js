/** The list of conversations, the archive or a folder as far as it was loaded, page by page. */

import { getJson } from "../net/http.js";

/** @import { Conversation, Groups } from "../types/wire.js" */

/** @type {Groups} */
const NONE = { pinned: [], folders: [], archived: 0 };

export class ConversationPages {
  /** @param {string} path @param {Record<string, string>} which of the conversations */
  constructor(path, which) {
    this.path = path;
    this.which = which;
    /** What came with the first page of the list. */
    this.groups = NONE;
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
    const { conversations, more, ...beside } = await this.#page(null);
    if (mine !== this.question) return false;
    this.groups = { ...NONE, ...beside };
    const further = more ? this.#below(conversations) : [];
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

  /** @param {string[]|null} gone from here; null: begins at the first page again */
  forget(gone) {
    this.loaded = gone ? this.loaded.filter(({ id }) => !gone.includes(id)) : [];
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
   * @returns {Promise<{conversations: Conversation[], more: boolean} & Partial<Groups>>}
   */
  #page(last) {
    const query = new URLSearchParams(this.which);
    if (last) query.set("after", `${last.updated},${last.id}`);
    return getJson(`${this.path}?${query}`);
  }
}
