/** What a search found in titles and messages, or the bookmarked messages, each with its place, page by page. */

import { h, inThisPage } from "../elements/dom.js";
import { chatAddress, messageAddress } from "../net/address.js";
import { getJson } from "../net/http.js";
import { formatTime, withoutMarkup } from "../state/format.js";
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
    /** Whether the bookmarks are shown instead of what a search found. */
    this.bookmarks = false;
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
   * @param {string} text "" asks for the bookmarks
   * @returns {Promise<boolean>} whether the results are the answer to this request
   */
  async refresh(text) {
    const found = await this.#ask(text);
    if (!found) return false;
    this.text = text;
    this.bookmarks = !text;
    this.hits = found.hits;
    this.#take(found);
    return true;
  }

  /** @returns {Promise<boolean>} whether there are more results now */
  async loadMore() {
    if (this.more === null) return false;
    const found = await this.#ask(this.text, { before: String(this.more) });
    if (!found) return false;
    this.hits = [...this.hits, ...found.hits];
    this.#take(found);
    return true;
  }

  /** Forgets what was found, and what is still being asked for. */
  clear() {
    this.question += 1;
    this.text = "";
    this.bookmarks = false;
    this.hits = [];
    this.more = null;
  }

  /** Whether there is something to be shown instead of the conversations. */
  get shown() {
    return this.bookmarks || Boolean(this.text);
  }

  /** What to say above the results. */
  get note() {
    if (this.bookmarks)
      return this.hits.length
        ? ""
        : say("No message is bookmarked yet. The menu under each message does it.");
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
    const found = parts.map(([text, marked]) =>
      marked ? h("mark", {}, text) : withoutMarkup(text),
    );
    const place =
      seq === null
        ? [
            h("span", { class: "hit-title cut found" }, found),
            h("span", { class: "hit-place" }, formatTime(at)),
          ]
        : [
            h("span", { class: "hit-title cut" }, name),
            h("span", { class: "hit-place" }, `${this.#author(hit)} · ${formatTime(at)}`),
            h("span", { class: "hit-text", dir: "auto" }, found),
          ];
    const link = h(
      "a",
      {
        class: "conv cut hit",
        href:
          seq === null
            ? chatAddress(this.page, { conversation })
            : messageAddress(this.page, conversation, seq),
        on: { click: inThisPage(() => this.open(hit)) },
      },
      place,
    );
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
   * @param {string} text
   * @param {Record<string, string>} place of a further page
   * @returns {Promise<SearchPage|null>} null where another request was made meanwhile
   */
  async #ask(text, place = {}) {
    const mine = (this.question += 1);
    const { search, bookmarks } = this.page.urls;
    const found = await getJson(
      `${text ? search : bookmarks}?${new URLSearchParams(text ? { q: text, ...place } : place)}`,
    );
    return mine === this.question ? found : null;
  }
}
