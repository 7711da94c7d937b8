/** The conversations: find, open, rename, save, clear, delete with undo; and the bookmarks. */

import { askToConfirm } from "../elements/confirm.js";
import { byId, h, inThisPage, pressable, setChildren, textButton } from "../elements/dom.js";
import { icon } from "../elements/icons.js";
import { closeNewest, Popover } from "../elements/popover.js";
import { showError, toast } from "../elements/toast.js";
import { chatAddress } from "../net/address.js";
import { sendChange } from "../net/http.js";
import { copyChat } from "../shell/copy-chat.js";
import { dateGroup } from "../state/format.js";
import { ConversationPages } from "./conversation-pages.js";
import { SearchResults } from "./search-results.js";
import { say } from "../words/say.js";

/**
 * @import { Form } from "../shell/copy-chat.js"
 * @import { Page } from "../types/page.js"
 * @import { State } from "../types/state.js"
 * @import { Conversation, SearchHit } from "../types/wire.js"
 */

const PAUSE = 200;
const NOT_LOADED = () => h("p", { class: "convs-note" }, say("The list can't be loaded now."));

/** What a conversation is exported as; only the first can be imported again. */
const FORMS = () => [
  { form: "", words: say("Export") },
  { form: "?format=markdown", words: say("Export as Markdown") },
  { form: "?format=text", words: say("Export as text") },
];

/** @returns {{form: Form, words: string}[]} */
const COPIES = () => [
  { form: "markdown", words: say("Copy as Markdown") },
  { form: "text", words: say("Copy as text") },
];

export class Sidebar {
  /**
   * @param {Page} page
   * @param {{open: (conversation: {id: string, agent: string}) => void, openMessage: (hit: SearchHit) => void, onDeleted: (id: string) => void,
   *   onCounted: (count: number, more: boolean) => void}} actions
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
    this.pages = new ConversationPages(page.urls.conversations ?? "");
    this.results = new SearchResults(page, (hit) => actions.openMessage(hit));
    this.failed = false;
    // The next page is loaded a little before its place is seen.
    this.watch = new IntersectionObserver(
      (seen) => {
        if (seen.some(({ isIntersecting }) => isIntersecting)) void this.#loadMore();
      },
      { root: this.list, rootMargin: "300px" },
    );
    this.timer = 0;
    this.find.addEventListener("input", () => {
      clearTimeout(this.timer);
      this.#pressBookmarks(false);
      this.timer = window.setTimeout(() => this.refresh(), PAUSE);
    });
    this.find.addEventListener("keydown", (event) => {
      if (event.key === "Escape" && (this.find.value || this.showsBookmarks)) {
        event.stopPropagation();
        this.find.value = "";
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

  /**
   * @param {State} state
   * @param {State} before
   */
  update(state, before) {
    const named = state.conversation?.title !== before.conversation?.title;
    const ended = before.turn !== null && state.turn === null;
    if (this.current !== state.conversationId) {
      this.current = state.conversationId;
      this.#draw();
    }
    if (named || ended || state.deleted !== before.deleted) void this.refresh();
  }

  get showsBookmarks() {
    return this.marked.getAttribute("aria-pressed") === "true";
  }

  /** @param {boolean} on */
  #pressBookmarks(on) {
    this.marked.setAttribute("aria-pressed", String(on));
  }

  /**
   * The bookmarks, or the conversations again.
   * @param {boolean} on
   */
  #showBookmarks(on) {
    this.find.value = "";
    this.#pressBookmarks(on);
    void this.refresh();
  }

  /** Loads the list, the results or the bookmarks again. */
  async refresh() {
    const text = this.find.value.trim();
    try {
      if (!(await (text || this.showsBookmarks ? this.results.refresh(text) : this.#list())))
        return;
      this.failed = false;
    } catch {
      this.failed = true;
    }
    this.#draw();
  }

  async #list() {
    this.results.clear();
    const loaded = await this.pages.refresh();
    if (loaded) this.actions.onCounted(this.conversations.length, this.pages.more);
    return loaded && !this.find.value.trim() && !this.showsBookmarks;
  }

  /** @returns {Conversation[]} those that are loaded */
  get conversations() {
    return this.pages.loaded;
  }

  async #loadMore() {
    const shown = this.results.shown ? this.results : this.pages;
    const changed = await shown.loadMore().catch(() => false);
    if (changed) this.#draw();
  }

  #draw() {
    // A name that is being typed, or an open menu, isn't removed.
    if (this.list.querySelector("input, .pop:not([hidden])")) return;
    const held = /** @type {HTMLElement|null} */ (document.activeElement)
      ?.closest?.("[data-id]")
      ?.getAttribute("data-id");
    if (this.results.shown) this.#drawResults();
    else this.#drawConversations();
    if (held)
      /** @type {HTMLElement|null} */ (
        this.list.querySelector(`[data-id="${CSS.escape(held)}"] a`)
      )?.focus();
  }

  #drawResults() {
    const { note, more } = this.results;
    setChildren(
      this.list,
      this.failed ? NOT_LOADED() : note && h("p", { class: "convs-note", role: "status" }, note),
      h(
        "ul",
        { "aria-label": this.results.bookmarks ? say("Bookmarks") : say("Found") },
        this.results.rows(),
      ),
      more !== null && this.#moreButton(),
    );
  }

  #drawConversations() {
    if (!this.conversations.length) {
      return setChildren(
        this.list,
        this.#rooms(),
        this.failed
          ? NOT_LOADED()
          : h("p", { class: "convs-note" }, say("Your conversations will be listed here.")),
      );
    }
    const rooms = this.#rooms();
    const groups = Map.groupBy(this.conversations, (one) => dateGroup(one.updated));
    const more = this.pages.more && this.#moreButton();
    setChildren(
      this.list,
      rooms,
      [...groups].map(([name, members]) =>
        h(
          "section",
          { "aria-label": name },
          h("h2", { class: "group" }, name),
          h(
            "ul",
            {},
            members.map((one) => this.#row(one)),
          ),
        ),
      ),
      more,
    );
  }

  /** The Talk rooms that can be read here; they are written there. */
  #rooms() {
    if (!this.page.rooms.length) return false;
    return h(
      "section",
      { "aria-label": say("Talk rooms") },
      h("h2", { class: "group" }, say("Talk rooms")),
      h(
        "ul",
        {},
        this.page.rooms.map((room) =>
          h("li", { class: "conv-row", "data-id": room.id }, this.#link(room)),
        ),
      ),
    );
  }

  /** For the keyboard; whoever scrolls doesn't see it. */
  #moreButton() {
    const button = textButton(say("Show more"), () => this.#loadMore(), {
      class: "convs-more link",
    });
    this.watch.disconnect();
    this.watch.observe(button);
    return button;
  }

  /** @param {{id: string, title: string, agent: string}} conversation */
  #link(conversation) {
    const { id, title } = conversation;
    return h(
      "a",
      {
        class: "conv cut",
        href: chatAddress(this.page, { conversation: id }),
        title,
        "aria-current": id === this.current ? "page" : null,
        on: { click: inThisPage(() => this.actions.open(conversation)) },
      },
      title || say("Untitled"),
    );
  }

  /** @param {Conversation} conversation */
  #row(conversation) {
    const { id, title } = conversation;
    const link = this.#link(conversation);
    const button = h(
      "button",
      {
        type: "button",
        class: "conv-more",
        "aria-label": say("More for {title}", { title }),
      },
      icon("more"),
    );
    const item = h("li", { class: "conv-row", "data-id": id }, link, button);
    const menu = new Popover(button, {
      label: title,
      class: "menu",
      free: true,
      fill: (box) => this.#menu(box, conversation, item, menu),
    });
    return item;
  }

  /**
   * @param {HTMLElement} box
   * @param {Conversation} conversation
   * @param {HTMLElement} item
   * @param {Popover} menu
   */
  #menu(box, conversation, item, menu) {
    /**
     * @param {string} words
     * @param {() => void} act
     */
    const entry = (words, act, first = false) =>
      pressable({ "data-first": first }, () => (menu.close(), act()), words);
    setChildren(
      box,
      entry(say("Rename"), () => this.rename(conversation, item), true),
      FORMS().map(({ form, words }) =>
        h(
          "a",
          {
            href: `${this.page.urls.conversations}/${conversation.id}/export${form}`,
            download: true,
            on: { click: () => setTimeout(() => menu.close()) },
          },
          words,
        ),
      ),
      COPIES().map(({ form, words }) =>
        entry(
          words,
          () => void copyChat(`${this.page.urls.conversations}/${conversation.id}`, form),
        ),
      ),
      entry(say("Clear"), () => void this.#clear(conversation)),
      entry(say("Delete"), () => void this.#remove(conversation)),
    );
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

  /** @param {Conversation} conversation */
  async #clear({ id, title }) {
    const sure = await askToConfirm({
      title: say("Clear this conversation?"),
      text: say("All messages in “{title}” are removed from view and the chat starts over.", {
        title,
      }),
      yes: say("Clear"),
    });
    if (sure)
      await sendChange("POST", `${this.page.urls.conversations}/${id}/clear`).catch(showError);
  }

  /** @param {Conversation} conversation */
  async #remove({ id, title }) {
    const path = `${this.page.urls.conversations}/${id}`;
    try {
      await sendChange("DELETE", path);
    } catch (error) {
      return showError(error);
    }
    const was = this.current === id;
    this.pages.remove(id);
    this.actions.onDeleted(id);
    await this.refresh();
    toast(say("Deleted “{title}”.", { title }), {
      label: say("Undo"),
      act: async () => {
        await sendChange("POST", `${path}/restore`).catch(showError);
        await this.refresh();
        const back = this.conversations.find((one) => one.id === id);
        if (was && back) this.actions.open(back);
      },
    });
  }

  /** @param {KeyboardEvent} event */
  #walk(event) {
    const row = /** @type {HTMLElement|null} */ (
      /** @type {HTMLElement} */ (event.target).closest?.("[data-id]")
    );
    const inside = /** @type {HTMLElement} */ (event.target).closest?.(".pop, input");
    if (!row || inside) return;
    const rows = /** @type {HTMLElement[]} */ ([...this.list.querySelectorAll("[data-id]")]);
    if (event.key === "ArrowDown") this.#step(event, rows.indexOf(row) + 1);
    if (event.key === "ArrowUp") this.#step(event, rows.indexOf(row) - 1);
    const one = this.conversations.find(({ id }) => id === row.getAttribute("data-id"));
    if (event.key === "F2" && one) this.rename(one, row);
    if (event.key === "Delete" && one) void this.#remove(one);
  }

  /**
   * @param {KeyboardEvent} event
   * @param {number} index
   */
  #step(event, index) {
    event.preventDefault();
    if (index < 0) return this.find.focus();
    const row = this.list.querySelectorAll("[data-id] a.conv")[index];
    /** @type {HTMLElement|undefined} */ (row)?.focus();
  }
}
