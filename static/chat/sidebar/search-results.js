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

/** @type {SearchPage} */
const NONE = { hits: [], more: null, newest_first: false, waiting: false };

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
    this.found = NONE;
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
    this.found = found;
    return true;
  }

  /** @returns {Promise<boolean>} whether there are more results now */
  async loadMore() {
    const { hits, more } = this.found;
    const found = more !== null && (await this.#ask(this.text, more));
    if (!found) return false;
    this.found = { ...found, hits: [...hits, ...found.hits] };
    return true;
  }

  /** Forgets what was found, and what is still being asked for. */
  clear() {
    this.question += 1;
    this.text = "";
    this.bookmarks = false;
    this.found = NONE;
  }

  /** Whether there is something to be shown instead of the conversations. */
  get shown() {
    return this.bookmarks || Boolean(this.text);
  }

  /** What stands above the results: the filters in force, each to be taken away, and a note. */
  head() {
    const { filters = [], note: hint } = this.found;
    const chips = filters.map((token) => this.#chip(token));
    const notes = [hint, this.#note].filter(Boolean);
    return [
      chips.length > 0 &&
        h("div", { class: "chips", role: "group", "aria-label": say("Filters") }, chips),
      ...notes.map((note) => h("p", { class: "convs-note", role: "status" }, note)),
    ];
  }

  /** @param {string} token a filter as it was typed */
  #chip(token) {
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
    const { hits, more, waiting } = this.found;
    if (hits.length || waiting || more !== null) return "";
    return this.bookmarks
      ? say("No bookmarks yet. Each message's menu sets one.")
      : say("Nothing found in titles or messages.");
  }

  get #note() {
    const { hits, more, waiting, newest_first: newestFirst, filters } = this.found;
    if (this.bookmarks) return "";
    if (waiting) return say("Older messages are still being made searchable.");
    if (more !== null && !hits.length)
      return say("Nothing found yet. Older messages are looked at.");
    // Filters alone list all that they leave over.
    return newestFirst && !filters?.length
      ? say("Many messages have these words. The newest come first.")
      : "";
  }

  /** @returns {HTMLElement[]} the hits of each chat below its title */
  rows() {
    /** @type {SearchHit[][]} */
    const groups = [];
    for (const hit of this.found.hits) {
      // What comes with a further page of the newest moves nothing above.
      const near = this.found.newest_first ? groups.slice(-1) : groups;
      const same = near.find(([one]) => one.conversation === hit.conversation);
      if (same) same.push(hit);
      else groups.push([hit]);
    }
    return groups.map(([first, ...more]) => {
      const title = first.title || say("Untitled");
      const rows = first.seq === null ? more : [first, ...more];
      return h(
        "li",
        { class: "hit-chat" },
        first.seq === null ? this.#row(first, "div") : h("h3", { class: "hit-title cut" }, title),
        rows.length > 0 && h("ul", { "aria-label": title }, ...rows.map((hit) => this.#row(hit))),
      );
    });
  }

  /** @param {SearchHit} hit @param {"li"|"div"} kind */
  #row(hit, kind = "li") {
    const { conversation, seq, at, parts, archived } = hit;
    const named = seq === null;
    const about = [!named && this.#author(hit), formatTime(at), archived && say("archived")];
    const link = h(
      "a",
      {
        class: "conv hit",
        href: named
          ? chatAddress(this.page, { conversation })
          : messageAddress(this.page, conversation, seq),
        on: { click: inThisPage(() => this.open(hit)) },
      },
      h(
        "span",
        { class: named ? "hit-title" : "hit-text", dir: "auto" },
        parts.map(([text, marked]) => (marked ? h("mark", {}, text) : text)),
      ),
      h("span", { class: "hit-place" }, joinParts(about)),
    );
    return h(kind, { class: "conv-row", "data-id": `${conversation} ${seq ?? ""}` }, link);
  }

  /** @param {SearchHit} hit */
  #author({ role, agent }) {
    if (role === "user") return say("You");
    if (role === "tool") return say("A tool");
    return this.#agent(agent);
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
