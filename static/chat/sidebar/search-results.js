/** What a search found in titles and messages, or the bookmarked messages, each with its place, page by page. */

import { byId, h, inThisPage } from "../elements/dom.js";
import { icon } from "../elements/icons.js";
import { Late } from "../elements/late.js";
import { chatAddress, messageAddress } from "../net/address.js";
import { getJson } from "../net/http.js";
import { searchChats } from "../net/requests.js";
import { formatDate, formatTime, joinParts } from "../state/format.js";
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
    /** @type {string[]} */
    this.filters = [];
    /** What the server says of filters that are none. */
    this.hint = "";
    this.question = 0;
    this.find = byId("find", HTMLInputElement);
    const button = byId("filters");
    button.append(icon("filter"));
    const fields = new Late(async () => {
      const { SearchFilters } = await import("./search-filters.js");
      return new SearchFilters(page, { find: this.find, button });
    });
    button.addEventListener("click", () => void fields.use((one) => one.toggle()));
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
    const found = await this.#ask(this.text, this.more);
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
    this.filters = [];
    this.hint = "";
  }

  /** Whether there is something to be shown instead of the conversations. */
  get shown() {
    return this.bookmarks || Boolean(this.text);
  }

  /** What stands above the results: the filters in force, each to be taken away, and a note. */
  head() {
    const notes = [this.hint, this.#note].filter(Boolean);
    return [
      this.filters.length > 0 &&
        h("div", { class: "chips", role: "group", "aria-label": say("Filters") }, this.#chips()),
      ...notes.map((note) => h("p", { class: "convs-note", role: "status" }, note)),
    ];
  }

  #chips() {
    return this.filters.map((token) => {
      const name = this.#nameOf(token);
      return h(
        "button",
        {
          type: "button",
          class: "chip-filter",
          "aria-label": say("Remove the filter {name}", { name }),
          on: { click: () => void this.#remove(token) },
        },
        h("span", { class: "cut" }, name),
        icon("close"),
      );
    });
  }

  /** @param {string} token a filter as it was typed */
  async #remove(token) {
    const { withoutFilter } = await import("./search-filters.js");
    this.find.value = withoutFilter(this.find.value, token);
    this.find.dispatchEvent(new Event("input"));
    this.find.focus();
  }

  /** @param {string} token */
  #nameOf(token) {
    const [, name, quoted] = /^(\w+):(.*)$/s.exec(token) ?? ["", "", token];
    const value = quoted.replaceAll('"', "");
    /** @type {Record<string, string>} */
    const marks = {
      bookmarked: say("Bookmarked"),
      pinned: say("Pinned"),
      archived: say("Archived"),
    };
    switch (name.toLowerCase()) {
      case "agent":
        return this.#agent(value);
      case "after":
        return say("From {day}", { day: formatDate(value) });
      case "before":
        return say("Before {day}", { day: formatDate(value) });
      case "is":
        return marks[value.toLowerCase()] ?? value;
      default:
        return value;
    }
  }

  /** @param {string} slug */
  #agent(slug) {
    return this.page.agents.find((one) => one.slug === slug.toLowerCase())?.name ?? slug;
  }

  /** Why there is nothing, where no more can come. */
  get nothing() {
    if (this.hits.length || this.waiting || this.more !== null) return "";
    return this.bookmarks
      ? say("No bookmarks yet. Each message's menu sets one.")
      : say("Nothing found in titles or messages.");
  }

  get #note() {
    if (this.bookmarks) return "";
    if (this.waiting) return say("Older messages are still being made searchable.");
    if (this.more !== null && !this.hits.length)
      return say("Nothing found yet. Older messages are looked at.");
    // Filters alone list all that they leave over.
    return this.newestFirst && this.filters.length === 0
      ? say("Many messages have these words. The newest come first.")
      : "";
  }

  /** @returns {HTMLElement[]} one row for each */
  rows() {
    return this.hits.map((hit) => this.#row(hit));
  }

  /** @param {SearchHit} hit */
  #row(hit) {
    const { conversation, title, seq, at, parts, archived } = hit;
    const name = title || say("Untitled");
    const found = parts.map(([text, marked]) => (marked ? h("mark", {}, text) : text));
    const when = archived ? joinParts([formatTime(at), say("archived")]) : formatTime(at);
    const place =
      seq === null
        ? [
            h("span", { class: "hit-title cut found" }, found),
            h("span", { class: "hit-place" }, when),
          ]
        : [
            h("span", { class: "hit-title cut" }, name),
            h("span", { class: "hit-place" }, joinParts([this.#author(hit), when])),
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
    return this.#agent(agent);
  }

  /** @param {SearchPage} page */
  #take({ more, newest_first: newestFirst, waiting, filters = [], note = "" }) {
    this.more = more;
    this.filters = filters;
    this.hint = note;
    this.newestFirst = newestFirst;
    this.waiting = waiting;
  }

  /**
   * @param {string} text
   * @param {number|null} before of a further page
   * @returns {Promise<SearchPage|null>} null where another request was made meanwhile
   */
  async #ask(text, before = null) {
    const mine = (this.question += 1);
    const found = text
      ? await searchChats(this.page, text, { before })
      : await getJson(`${this.page.urls.bookmarks}${before === null ? "" : `?before=${before}`}`);
    return mine === this.question ? found : null;
  }
}
