/** The list as it is drawn: the pinned conversations, folders, dates, and the row of each conversation. */

import { byId, h, inThisPage, pressable, textButton } from "../elements/dom.js";
import { emptyState } from "../elements/empty.js";
import { icon } from "../elements/icons.js";
import { walkMenu } from "../elements/menu-keys.js";
import { Popover } from "../elements/popover.js";
import { chatAddress } from "../net/address.js";
import { loadItem, storeItem } from "../net/storage.js";
import { dateGroup, formatNumber } from "../state/format.js";
import { say, sayCount } from "../words/say.js";

/**
 * @import { Child } from "../elements/dom.js"
 * @import { Conversation } from "../types/wire.js"
 * @import { Sidebar } from "./sidebar.js"
 * @typedef {(box: HTMLElement, menu: Popover) => void} Fill
 */

export class Groups {
  /** @param {Sidebar} sidebar */
  constructor(sidebar) {
    this.sidebar = sidebar;
    /** Folders are folded at first, the pinned ones aren't: these are otherwise. */
    this.turned = new Set((loadItem("folds") ?? "").split("\n").filter(Boolean));
  }

  /** @param {string} name "pinned", or that of a folder after a slash */
  isOpen(name) {
    return this.turned.has(name) === name.startsWith("/");
  }

  /** @returns {(Child|Child[])[]} */
  draw() {
    const { archive, pages, groups } = this.sidebar;
    const { loaded } = archive ?? pages;
    const dates = Map.groupBy(loaded, (one) => dateGroup(one.updated));
    return [
      archive ? heading(say("Archive"), "shelf") : this.#rooms(),
      !archive && this.#pinned(),
      archive ? [] : groups.folders.map(([name, count]) => this.#folder(name, count)),
      !loaded.length && this.#empty(),
      h(
        "div",
        { "data-drop": archive ? null : "list" },
        [...dates].map(([name, members]) =>
          h("section", { "aria-label": name }, heading(name), this.#rows(members)),
        ),
      ),
    ];
  }

  #empty() {
    const { sidebar } = this;
    const { pinned, folders } = sidebar.groups;
    if (sidebar.archive)
      return emptyState("archive", say("Nothing is archived."), sidebar.wayBack());
    if (pinned.length + folders.length) return false;
    const write = textButton(say("Write a message"), () => byId("draft").focus());
    return emptyState("chats", say("No chats yet."), write);
  }

  #pinned() {
    const { pinned } = this.sidebar.groups;
    const { length } = pinned;
    return length > 0 && this.#group("pinned", say("Pinned"), length, [this.#rows(pinned)]);
  }

  /** @param {string} name @param {number} count */
  #folder(name, count) {
    const { sidebar } = this;
    const pages = sidebar.folder(name);
    const more = () => sidebar.loadMore(pages);
    const pinned = sidebar.groups.pinned.filter(({ folder }) => folder === name).length;
    const above = sayCount(
      "{count} chat is under Pinned.",
      "{count} chats are under Pinned.",
      pinned,
    );
    const rows = [
      count > 0 && this.#rows(pages.loaded),
      pages.more && textButton(say("Show more"), more, { class: "convs-more link" }),
      pinned > 0 && h("p", { class: "convs-note" }, above),
    ];
    return this.#group(`/${name}`, name, count + pinned, rows, (box, menu) =>
      sidebar.use((it) => it.fillFolder(box, menu, name)),
    );
  }

  /**
   * A group that folds.
   * @param {string} name
   * @param {string} label
   * @param {number} count
   * @param {Child[]} rows
   * @param {Fill} [fill] its menu
   */
  #group(name, label, count, rows, fill) {
    const open = this.isOpen(name);
    const fold = pressable(
      { class: "fold", "data-id": name, "aria-expanded": open },
      () => this.#turn(name),
      icon(open ? "down" : "right", 12),
      h("span", { class: "cut" }, label),
      h("span", { class: "fold-count" }, formatNumber(count)),
    );
    const head = h("h2", { class: "group folds" }, fold);
    if (fill) menuIn(head, label, fill);
    return h("section", { "aria-label": label, "data-drop": name }, head, open ? rows : []);
  }

  /** @param {string} name */
  #turn(name) {
    if (!this.turned.delete(name)) this.turned.add(name);
    storeItem("folds", [...this.turned].join("\n") || null);
    this.sidebar.draw();
    if (name.startsWith("/") && this.isOpen(name)) void this.sidebar.refresh();
  }

  /**
   * Opens the folder in which the open conversation stands.
   * @param {{pinned?: unknown, archived?: unknown, folder?: string|null}} conversation
   */
  unfold({ pinned, archived, folder }) {
    if (folder && !pinned && !archived && !this.isOpen(`/${folder}`)) this.#turn(`/${folder}`);
  }

  /** The Talk rooms that can be read here; they are written there. */
  #rooms() {
    const { rooms } = this.sidebar.page;
    if (!rooms.length) return false;
    const name = say("Talk rooms");
    const rows = rooms.map((room) =>
      h("li", { class: "conv-row", "data-id": room.id }, this.#link(room)),
    );
    return h("section", { "aria-label": name }, heading(name), h("ul", {}, rows));
  }

  /** @param {Conversation[]} all */
  #rows = (all) => h("ul", {}, ...all.map((one) => this.#row(one)));

  /**
   * @param {{id: string, title: string, agent: string}} conversation
   * @param {(event: MouseEvent) => boolean} [selects] whether a click does that instead
   */
  #link(conversation, selects = () => false) {
    const { id, title } = conversation;
    const { page, current, actions } = this.sidebar;
    const open = inThisPage(() => actions.open(conversation));
    return h(
      "a",
      {
        class: "conv cut",
        href: chatAddress(page, { conversation: id }),
        title,
        "aria-current": id === current ? "page" : null,
        on: { click: (event) => selects(event) || open(event) },
      },
      title || say("Untitled"),
    );
  }

  /** @param {Conversation} conversation */
  #row(conversation) {
    const { selection, use } = this.sidebar;
    const { id, title } = conversation;
    const link = this.#link(conversation, (event) => selection.takes(event, id));
    const row = h("li", { class: "conv-row", "data-id": id, "data-chat": true }, link);
    if (!selection.on)
      menuIn(row, title, (box, menu) => use((it) => it.fillRow(box, menu, conversation, row)));
    else {
      const label = say("Select {title}", { title });
      const on = { change: () => selection.toggle(id) };
      const check = h("input", { type: "checkbox", "aria-label": label, tabindex: "-1", on });
      check.checked = selection.ids.has(id);
      row.classList.toggle("chosen", check.checked);
      row.prepend(check);
    }
    return row;
  }
}

const heading = (/** @type {string} */ words, kind = "") =>
  h("h2", { class: `group ${kind}` }, words);

/**
 * @param {HTMLElement} row of a conversation or a folder
 * @param {string} title
 * @param {Fill} fill
 */
function menuIn(row, title, fill) {
  const label = say("More for {title}", { title });
  const button = h(
    "button",
    { type: "button", class: "conv-more", "aria-label": label },
    icon("more"),
  );
  row.append(button);
  const menu = new Popover(button, {
    label: title,
    class: "menu",
    free: true,
    fill: (box) => fill(box, menu),
  });
  walkMenu(menu.box);
}
