/** What a search found in titles and messages, each with its place, page by page. */

import { h } from "../elements/dom.js";
import { chatAddress, messageAddress } from "../net/address.js";
import { getJson } from "../net/http.js";
import { formatTime } from "../state/format.js";
import { say } from "../words/say.js";

/**
 * @import { Page } from "../types/page.js"
 * @import { SearchHit, SearchPage } from "../types/wire.js"
 */

export class SearchResults {
  /**
   * @param {Page} page
   * @param {(hit: SearchHit) => void} open
   */
  constructor(page, open) {
    this.page = page;
    this.open = open;
    this.text = "";
    /** @type {SearchHit[]} */
    this.hits = [];
    /** @type {number|null} */
    this.more = null;
    this.newestFirst = false;
    this.waiting = false;
    this.question = 0;
  }

  /**
   * Of several requests under way only the newest counts.
   * @param {string} text
   * @returns {Promise<boolean>} whether the results are the answer to this request
   */
  async refresh(text) {
    const found = await this.#ask({ q: text });
    if (!found) return false;
    this.text = text;
    this.hits = found.hits;
    this.#take(found);
    return true;
  }

  /** @returns {Promise<boolean>} whether there are more results now */
  async loadMore() {
    if (this.more === null) return false;
    const found = await this.#ask({ q: this.text, before: String(this.more) });
    if (!found) return false;
    this.hits = [...this.hits, ...found.hits];
    this.#take(found);
    return true;
  }

  /** Forgets what was found, and what is still being asked for. */
  clear() {
    this.question += 1;
    this.text = "";
    this.hits = [];
    this.more = null;
  }

  /** What to say above the results. */
  get note() {
    if (this.waiting) return say("Older messages are still being made searchable.");
    if (!this.hits.length) return say("Nothing found in titles or messages.");
    return this.newestFirst ? say("Many messages have these words. The newest come first.") : "";
  }

  /** @returns {HTMLElement[]} one row for each */
  rows() {
    return this.hits.map((hit) => this.#row(hit));
  }

  /** @param {SearchHit} hit */
  #row(hit) {
    const { conversation, title, seq, at, parts } = hit;
    const name = title || say("Untitled");
    const found = parts.map(([text, marked]) => (marked ? h("mark", {}, text) : text));
    const place = seq === null
      ? [h("span", { class: "hit-title" }, found), h("span", { class: "hit-place" }, formatTime(at))]
      : [
        h("span", { class: "hit-title" }, name),
        h("span", { class: "hit-place" }, `${this.#author(hit)} · ${formatTime(at)}`),
        h("span", { class: "hit-text", dir: "auto" }, found),
      ];
    const link = h("a", {
      class: "conv hit",
      href: seq === null ? chatAddress(this.page, { conversation }) : messageAddress(this.page, conversation, seq),
      on: {
        click: (event) => {
          if (event.ctrlKey || event.metaKey || event.shiftKey) return;
          event.preventDefault();
          this.open(hit);
        },
      },
    }, place);
    return h("li", { class: "conv-row", "data-id": `${conversation} ${seq ?? ""}` }, link);
  }

  /** @param {SearchHit} hit */
  #author({ role, agent }) {
    if (role === "user") return say("You");
    if (role === "tool") return say("A tool");
    return this.page.agents.find(({ slug }) => slug === agent)?.name ?? agent;
  }

  /** @param {SearchPage} page */
  #take({ more, newest_first: newestFirst, waiting }) {
    this.more = more;
    this.newestFirst = newestFirst;
    this.waiting = waiting;
  }

  /**
   * @param {Record<string, string>} query
   * @returns {Promise<SearchPage|null>} null where another request was made meanwhile
   */
  async #ask(query) {
    const mine = (this.question += 1);
    const found = await getJson(`${this.page.urls.search}?${new URLSearchParams(query)}`);
    return mine === this.question ? found : null;
  }
}
