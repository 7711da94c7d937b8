/** The conversations: pinned, in folders, by date, archived, found; and the bookmarks. */

import { byId, h, setChildren, textButton } from "../elements/dom.js";
import { emptyState } from "../elements/empty.js";
import { icon } from "../elements/icons.js";
import { Late } from "../elements/late.js";
import { closeNewest } from "../elements/popover.js";
import { showError } from "../elements/toast.js";
import { sendChange } from "../net/http.js";
import { ConversationPages } from "./conversation-pages.js";
import { dragRows } from "./dragging.js";
import { Groups } from "./groups.js";
import { SearchResults } from "./search-results.js";
import { Selection } from "./selection.js";
import { say } from "../words/say.js";

/**
 * @import { Page } from "../types/page.js"
 * @import { State } from "../types/state.js"
 * @import { Conversation, SearchHit } from "../types/wire.js"
 * @import { Arranging } from "./arranging.js"
 */

const PAUSE = 200;
const NOT_LOADED = () => h("p", { class: "convs-note" }, say("The list can't be loaded now."));

export class Sidebar {
  /**
   * @param {Page} page
   * @param {{open: (conversation: {id: string, agent: string}) => void, openMessage: (hit: SearchHit) => void, onDeleted: (id: string) => void,
   *   onCounted: (count: number, more: boolean) => void, share: (id: string) => void}} actions
   */
  constructor(page, actions) {
    this.page = page;
    this.actions = actions;
    this.list = byId("convs");
    this.find = byId("find", HTMLInputElement);
    this.marked = byId("bookmarks", HTMLButtonElement);
    setChildren(this.marked, icon("bookmark"));
    this.marked.addEventListener("click", () => this.#showBookmarks(!this.showsBookmarks));
    this.current = "";
    this.pages = new ConversationPages(page.urls.conversations, { in: "list" });
    /** @type {ConversationPages|null} while it is shown */
    this.archive = null;
    /** @type {Map<string, ConversationPages>} those that are open or were */
    this.folders = new Map();
    this.late = new Late(async () => new (await import("./arranging.js")).Arranging(this));
    this.selection = new Selection(this);
    this.list.after(this.selection.foot);
    this.view = new Groups(this);
    const { ids } = this.selection;
    dragRows(
      this.list,
      byId("side"),
      (id) => (ids.has(id) ? [...ids] : [id]),
      (some, set) => this.use((it) => it.change(some, set)),
    );
    this.results = new SearchResults(page, (hit) => actions.openMessage(hit));
    this.failed = false;
    // The next page is loaded a little before its place is seen.
    this.watch = new IntersectionObserver(
      (seen) => {
        if (seen.some(({ isIntersecting }) => isIntersecting)) void this.loadMore();
      },
      { root: this.list, rootMargin: "300px" },
    );
    this.timer = 0;
    this.find.addEventListener("input", () => {
      clearTimeout(this.timer);
      this.marked.setAttribute("aria-pressed", "false");
      this.timer = window.setTimeout(() => this.refresh(!this.find.value.trim()), PAUSE);
    });
    this.find.addEventListener("keydown", (event) => {
      if (event.key === "Escape" && (this.find.value || this.showsBookmarks)) {
        event.stopPropagation();
        this.#showBookmarks(false);
      } else if (event.key === "ArrowDown") this.#step(event, 0);
    });
    this.list.addEventListener("keydown", (event) => this.#walk(event));
    this.list.addEventListener("scroll", () => {
      if (this.list.querySelector(".pop:not([hidden])")) closeNewest();
    });
    // Changes from another tab show when this tab gets the focus.
    addEventListener("focus", () => void this.refresh());
  }

  /** @param {State} state @param {State} before */
  update(state, before) {
    const named = state.conversation?.title !== before.conversation?.title;
    const ended = before.turn !== null && state.turn === null;
    if (this.current !== state.conversationId) {
      this.current = state.conversationId;
      this.draw();
    }
    const { conversation } = state;
    if (conversation && conversation.id !== before.conversation?.id) this.view.unfold(conversation);
    if (named || ended || state.deleted !== before.deleted) void this.refresh();
  }

  get showsBookmarks() {
    return this.marked.getAttribute("aria-pressed") === "true";
  }

  /**
   * The bookmarks, or the conversations again.
   * @param {boolean} on
   */
  #showBookmarks(on) {
    this.find.value = "";
    this.marked.setAttribute("aria-pressed", String(on));
    void this.refresh();
  }

  /**
   * Loads the results or the bookmarks again, and the list.
   * @param {boolean} [all] false: not the list, which is behind the results
   */
  async refresh(all = true) {
    const text = this.find.value.trim();
    const searched = this.results.shown;
    const searches = Boolean(text) || this.showsBookmarks;
    if (!searches) this.results.clear();
    try {
      if (searches && !(await this.results.refresh(text))) return;
      if (all && !(await this.#list())) return;
      this.failed = false;
    } catch {
      this.failed = true;
    }
    // What was typed meanwhile is asked for.
    if (!searches && (this.find.value.trim() || this.showsBookmarks)) return;
    this.draw();
    if (searched && !searches)
      this.list.querySelector("[aria-current]")?.scrollIntoView({ block: "center" });
  }

  async #list() {
    if (!(await this.pages.refresh())) return false;
    await Promise.all(this.#beside().map((one) => one.refresh()));
    const { pinned, folders } = this.groups;
    const filed = folders.reduce((sum, [, count]) => sum + count, pinned.length);
    this.actions.onCounted(this.pages.loaded.length + filed, this.pages.more);
    this.selection.keep(this.conversations.map(({ id }) => id));
    return true;
  }

  /** The archive while it is shown, or the folders that are open. */
  #beside() {
    if (this.archive) return [this.archive];
    return this.groups.folders
      .filter(([name]) => this.view.isOpen(`/${name}`))
      .map(([name]) => this.folder(name));
  }

  /**
   * What is loaded of a folder.
   * @param {string} name
   */
  folder(name) {
    const pages =
      this.folders.get(name) ??
      new ConversationPages(this.page.urls.conversations, { folder: name });
    this.folders.set(name, pages);
    return pages;
  }

  /**
   * What the menus, keys and drags do is loaded with the first of them.
   * @param {(it: Arranging) => void} act
   */
  use = (act) => void this.late.use(act);

  get groups() {
    return this.pages.groups;
  }

  /** @returns {Conversation[]} those that are loaded where the list is shown */
  get conversations() {
    if (this.archive) return this.archive.loaded;
    const filed = this.#beside().flatMap(({ loaded }) => loaded);
    return [...this.groups.pinned, ...filed, ...this.pages.loaded];
  }

  /** From the archive, the bookmarks or a search. */
  wayBack = () => textButton(say("Back to the list"), () => this.showArchive(false));

  /** @param {boolean} on */
  showArchive(on) {
    const { conversations } = this.page.urls;
    this.archive = on ? new ConversationPages(conversations, { in: "archive" }) : null;
    this.selection.end();
    this.#showBookmarks(false);
  }

  /**
   * Shows what has changed.
   * @param {string[]|null} gone those that stand elsewhere now; null: some may have come back
   */
  async changed(gone) {
    for (const one of [this.pages, this.archive, ...this.folders.values()]) one?.forget(gone);
    await this.refresh();
    this.selection.end();
  }

  /** @param {ConversationPages|SearchResults} shown */
  async loadMore(shown = this.results.shown ? this.results : (this.archive ?? this.pages)) {
    const changed = await shown.loadMore().catch(() => false);
    if (changed) this.draw();
  }

  draw() {
    // A name that is being typed, or an open menu, isn't removed.
    if (this.list.querySelector(".conv-name, .pop:not([hidden])")) return;
    // Nor the row that is being dragged: the browser would give up the drag.
    if (byId("side").matches(".dragging"))
      return document.addEventListener("dragend", () => this.draw(), { once: true });
    const held = /** @type {HTMLElement|null} */ (
      document.activeElement?.closest("#convs [data-id]")
    );
    const place = held ? this.#stops().indexOf(stopOf(held)) : -1;
    const { folders, archived } = this.groups;
    const some = this.archive ?? (this.conversations.length || folders.length || archived);
    this.selection.foot.hidden = this.results.shown || !some;
    if (this.results.shown) this.#drawResults();
    else this.#drawConversations();
    if (!held) return;
    const stops = this.#stops();
    const same = this.list.querySelector(`[data-id="${CSS.escape(held.dataset.id ?? "")}"]`);
    // Of a row that is gone the next one.
    const next = stops[Math.min(place, stops.length - 1)] ?? this.find;
    (same ? stopOf(same) : next).focus();
  }

  #drawResults() {
    const { nothing, bookmarks, found } = this.results;
    const { more } = found;
    setChildren(
      this.list,
      this.failed ? NOT_LOADED() : this.results.head(),
      nothing &&
        !this.failed &&
        emptyState(bookmarks ? "bookmarks" : "search", nothing, this.wayBack()),
      h("ul", { "aria-label": bookmarks ? say("Bookmarks") : say("Found") }, this.results.rows()),
      more !== null && this.#moreButton(),
    );
  }

  #drawConversations() {
    if (this.failed && !this.conversations.length) return setChildren(this.list, NOT_LOADED());
    const { more } = this.archive ?? this.pages;
    setChildren(this.list, ...this.view.draw(), more && this.#moreButton());
  }

  /** For the keyboard; whoever scrolls doesn't see it. */
  #moreButton() {
    const button = textButton(say("Show more"), () => this.loadMore(), {
      class: "convs-more link",
    });
    this.watch.disconnect();
    this.watch.observe(button);
    return button;
  }

  /**
   * Turns the row into a field; Enter keeps the name, Esc leaves it as it was.
   * @param {Conversation} conversation
   * @param {HTMLElement} item
   */
  rename(conversation, item) {
    const input = h("input", {
      class: "conv-name",
      "aria-label": say("New name"),
      maxlength: "200",
    });
    input.value = conversation.title;
    let done = false;
    /** @param {boolean} keep */
    const finish = async (keep) => {
      if (done) return;
      done = true;
      const title = input.value.trim();
      input.remove();
      item.classList.remove("renaming");
      if (keep && title && title !== conversation.title) {
        await sendChange("PATCH", `${this.page.urls.conversations}/${conversation.id}`, {
          title,
        }).catch(showError);
      }
      await this.refresh();
    };
    input.addEventListener("keydown", (event) => {
      event.stopPropagation();
      if (event.isComposing) return;
      if (event.key === "Enter") void finish(true);
      if (event.key === "Escape") void finish(false);
    });
    input.addEventListener("blur", () => void finish(true));
    item.classList.add("renaming");
    item.prepend(input);
    input.focus();
    input.select();
  }

  /** @param {KeyboardEvent} event */
  #walk(event) {
    const target = /** @type {HTMLElement} */ (event.target);
    const { key, shiftKey: shift } = event;
    const row = /** @type {HTMLElement|null} */ (target.closest("[data-id]"));
    if (target.closest(".pop, .conv-name")) return;
    const by = { ArrowDown: 1, ArrowUp: -1 }[key];
    if (row && by) {
      const at = this.#stops().indexOf(stopOf(row));
      if (shift) this.#extend();
      this.#step(event, at + by);
      if (shift) this.#extend();
    } else if (key === "Escape" && this.selection.on) this.selection.end();
    else if (key === "Escape" && this.archive) this.showArchive(false);
    else if (key === "z" && (event.ctrlKey || event.metaKey)) void this.late.part?.undo?.();
    else if (!row || !this.#pressed(key, shift, row)) return;
    event.preventDefault();
  }

  /** Selects the row that has the focus, too. */
  #extend() {
    const row = /** @type {HTMLElement|null} */ (document.activeElement?.closest("[data-chat]"));
    if (row?.dataset.id) this.selection.extend(row.dataset.id);
  }

  /**
   * @param {string} key
   * @param {boolean} shift
   * @param {HTMLElement} row
   * @returns {boolean} whether the key does something there
   */
  #pressed(key, shift, row) {
    const { on, ids } = this.selection;
    const one = this.conversations.find(({ id }) => id === row.dataset.id);
    if (!one) return false;
    if (key === "F2" && !on) this.rename(one, row);
    else if (key === "Delete")
      this.use((it) => it.change(ids.size ? [...ids] : [one.id], { deleted: true }));
    else if (key === " ") this.selection.toggle(one.id);
    else if (key !== "ContextMenu" && !(key === "F10" && shift)) return false;
    else if (on) this.selection.focus();
    else /** @type {HTMLElement|null} */ (row.querySelector(".conv-more"))?.click();
    return true;
  }

  /** What the arrow keys go through. */
  #stops() {
    return /** @type {HTMLElement[]} */ ([...this.list.querySelectorAll("a.conv, .fold")]);
  }

  /** The conversations as they are shown, by id. */
  order() {
    const rows = /** @type {HTMLElement[]} */ ([...this.list.querySelectorAll("[data-chat]")]);
    return rows.map(({ dataset }) => dataset.id ?? "");
  }

  /** @param {KeyboardEvent} event @param {number} index */
  #step(event, index) {
    event.preventDefault();
    if (index < 0) return this.find.focus();
    this.#stops()[index]?.focus();
  }
}

/**
 * What has the focus of a row or of a group's head.
 * @param {Element} held
 */
const stopOf = (held) => /** @type {HTMLElement} */ (held.querySelector("a.conv") ?? held);
