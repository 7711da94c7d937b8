/** What is done with conversations and folders from their menus, by keys or by dragging, each with its undo. */

import { askToConfirm } from "../elements/confirm.js";
import { h, pressable, setChildren } from "../elements/dom.js";
import { dismissToasts, showError, toast } from "../elements/toast.js";
import { sendChange } from "../net/http.js";
import { copyChat } from "../shell/copy-chat.js";
import { shorten } from "../state/format.js";
import { say, sayCount } from "../words/say.js";

/**
 * @import { Child } from "../elements/dom.js"
 * @import { Popover } from "../elements/popover.js"
 * @import { Conversation, Place } from "../types/wire.js"
 * @import { Sidebar } from "./sidebar.js"
 * @typedef {{pinned?: boolean, archived?: boolean, deleted?: true, folder?: string|null}} Change one of
 *   them; the folder null is the list
 */

// As many as the server changes with one request.
const AT_ONCE = 500;
const FOLDER_LENGTH = 60;

export class Arranging {
  /** @param {Sidebar} sidebar */
  constructor(sidebar) {
    this.sidebar = sidebar;
    this.urls = sidebar.page.urls;
    /** @type {(() => Promise<void>)|null} takes the last change back */
    this.undo = null;
  }

  /** @param {string[]} ids @param {Change} set */
  async change(ids, set) {
    const { conversations, current, actions } = this.sidebar;
    const leaves = set.deleted || set.pinned || set.archived || set.folder;
    const open = ids.includes(current) && conversations.find(({ id }) => id === current);
    const gone = leaves ? ids : null;
    const reopen = () => set.deleted && open && actions.open(open);
    const [only] = ids.length > 1 ? [] : conversations.filter(({ id }) => id === ids[0]);
    const name = shorten(only?.title ?? "", 40);
    const words = set.deleted && name ? say("Deleted “{name}”.", { name }) : tell(set, ids.length);
    const done = await this.#send({ ids, set }, gone, words, reopen);
    if (!done || !open) return;
    if (set.deleted) actions.onDeleted(current);
    else this.sidebar.view.unfold({ ...open, ...set });
  }

  /**
   * @param {object} body
   * @param {string[]|null} gone from where they are shown; null: some may have come back
   * @param {string} [words] beside the undo
   * @param {() => unknown} [then] after the undo
   */
  async #send(body, gone, words = "", then = () => {}) {
    try {
      const { former } = await sendChange("POST", this.urls.changes, body);
      await this.sidebar.changed(gone);
      if (words) this.#offer(words, former, then);
      return true;
    } catch (error) {
      showError(error);
      return false;
    }
  }

  /** @param {string} words @param {Place[]} former @param {() => unknown} then */
  #offer(words, former, then) {
    this.undo = async () => {
      this.undo = null;
      dismissToasts("arranged");
      for (let at = 0; at < former.length; at += AT_ONCE) {
        const back = former.slice(at, at + AT_ONCE);
        if (!(await this.#send({ back }, null))) return this.#offer(words, former, then);
      }
      then();
    };
    toast(words, { label: say("Undo"), act: this.undo, about: "arranged" });
  }

  /**
   * @param {HTMLElement} box
   * @param {Popover} menu
   * @param {Conversation} conversation
   * @param {HTMLElement} row
   */
  fillRow(box, menu, conversation, row) {
    const { id, pinned, archived } = conversation;
    const entry = entries(menu);
    /** @param {Change} set */
    const change = (set) => () => void this.change([id], set);
    show(box, [
      entry(say("Rename"), () => this.sidebar.rename(conversation, row)),
      !archived && entry(pinned ? say("Unpin") : say("Pin"), change({ pinned: !pinned })),
      !archived && leads(say("Move to folder"), () => this.fillMove(box, menu, [id])),
      entry(archived ? say("Unarchive") : say("Archive"), change({ archived: !archived })),
      leads(say("Share or export…"), () => this.#fillExports(box, menu, id)),
      entry(say("Clear"), () => void this.#clear(conversation)),
      entry(say("Delete"), change({ deleted: true })),
    ]);
  }

  /** @param {HTMLElement} box @param {Popover} menu @param {string[]} ids */
  fillMove(box, menu, ids) {
    const some = this.sidebar.conversations.filter(({ id }) => ids.includes(id));
    /** @param {string|null} folder */
    const move = (folder) => void this.change(ids, { folder });
    show(box, [
      h("p", { class: "pop-title" }, say("Move to folder")),
      this.sidebar.groups.folders
        .filter(([name]) => some.some(({ folder }) => folder !== name))
        .map(([name]) => entries(menu)(name, () => move(name))),
      some.some(({ folder }) => folder) && entries(menu)(say("No folder"), () => move(null)),
      leads(say("New folder…"), () => nameForm(box, menu, say("New folder"), "", move)),
    ]);
  }

  /** @param {HTMLElement} box @param {Popover} menu @param {string} folder */
  fillFolder(box, menu, folder) {
    /** @type {(name: string|null, words: string) => void} */
    const rename = (name, words) => void this.#send({ folder, name }, null, words);
    /** @param {string} name */
    const named = (name) =>
      name !== folder && rename(name, say("Renamed the folder to “{name}”.", { name }));
    show(box, [
      leads(say("Rename"), () => nameForm(box, menu, say("New name"), folder, named)),
      entries(menu)(say("Dissolve: its chats stay"), () =>
        rename(null, say("Dissolved “{folder}”.", { folder })),
      ),
    ]);
  }

  /**
   * Only the first file can be imported again.
   * @param {HTMLElement} box
   * @param {Popover} menu
   * @param {string} id
   */
  #fillExports(box, menu, id) {
    const path = `${this.urls.conversations}/${id}`;
    const on = { click: () => setTimeout(() => menu.close()) };
    /** @type {(form: string, words: string) => HTMLElement} */
    const file = (form, words) =>
      h("a", { href: `${path}/export${form}`, download: true, on }, words);
    show(box, [
      entries(menu)(say("Share…"), () => this.sidebar.actions.share(id)),
      h("p", { class: "pop-title" }, say("Export")),
      file("", say("Chatsite file, to import again")),
      file("?format=markdown", say("Markdown file")),
      file("?format=text", say("Text file")),
      entries(menu)(say("Copy as Markdown"), () => void copyChat(path, "markdown")),
      entries(menu)(say("Copy as text"), () => void copyChat(path, "text")),
    ]);
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
    if (sure) await sendChange("POST", `${this.urls.conversations}/${id}/clear`).catch(showError);
  }
}

/**
 * What the undo stands beside.
 * @param {Change} set
 * @param {number} count
 */
function tell({ pinned, archived, deleted, folder }, count) {
  if (folder) return say("Moved to “{folder}”.", { folder });
  if (pinned) return sayCount("Pinned {count} chat.", "Pinned {count} chats.", count);
  if (archived) return sayCount("Archived {count} chat.", "Archived {count} chats.", count);
  if (deleted) return sayCount("Deleted {count} chat.", "Deleted {count} chats.", count);
  if (pinned === false) return sayCount("Unpinned {count} chat.", "Unpinned {count} chats.", count);
  return folder === null
    ? sayCount("Moved {count} chat to the list.", "Moved {count} chats to the list.", count)
    : sayCount("Unarchived {count} chat.", "Unarchived {count} chats.", count);
}

/** @type {(menu: Popover) => (words: string, act: () => void) => HTMLElement} */
const entries = (menu) => (words, act) => pressable({}, () => (menu.close(), act()), words);

/**
 * An entry that leads to more, in the same window.
 * @param {string} words
 * @param {() => void} fill
 */
const leads = (words, fill) => pressable({ class: "leads" }, fill, words);

/** @param {HTMLElement} box @param {(Child|Child[])[]} children */
function show(box, children) {
  setChildren(box, ...children);
  /** @type {HTMLElement|null} */ (box.querySelector("input, button, a"))?.focus();
}

/**
 * Asks for the name of a folder: Enter takes it.
 * @param {HTMLElement} box
 * @param {Popover} menu
 * @param {string} label
 * @param {string} value
 * @param {(name: string) => unknown} named
 */
function nameForm(box, menu, label, value, named) {
  const input = h("input", { class: "conv-name", "aria-label": label, placeholder: label });
  input.maxLength = FOLDER_LENGTH;
  input.value = value;
  const submit = (/** @type {Event} */ event) => {
    event.preventDefault();
    const name = input.value.trim().replace(/\s+/gu, " ");
    if (!name) return;
    menu.close();
    named(name);
  };
  const save = h("button", { class: "primary" }, say("Save"));
  show(box, [h("form", { class: "folder-form", on: { submit } }, input, save)]);
  input.select();
}
