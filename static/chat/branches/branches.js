/** Changes the tree of messages: edits, deletes, restores and steps between versions. */

import { announce } from "../elements/announce.js";
import { byId } from "../elements/dom.js";
import { showError, toast } from "../elements/toast.js";
import { sendChange } from "../net/http.js";
import { uuid } from "../net/ids.js";
import { say, sayCount } from "../words/say.js";
import { MessageEditor } from "./message-editor.js";

/**
 * @import { Page } from "../types/page.js"
 * @import { State } from "../types/state.js"
 * @import { Attachment } from "../types/wire.js"
 */

/**
 * `edit` sends the command and returns its ref, "" where that isn't possible now; `change` makes a request whose
 * answer is an event; `place` is the element of a message, `keep` puts a text that has no place any more back into
 * the message box; `hold` scrolls so that a message is at this height of the window, and loads it if needed.
 * @typedef {{state: () => State, edit: (message: string, fields: object) => string,
 *   change: (method: "POST"|"PUT"|"DELETE", path: string, body?: object) => Promise<void>,
 *   place: (seq: number) => HTMLElement|null, keep: (text: string) => void,
 *   hold: (seq: number, top: number) => HTMLElement|null}} Wiring
 */

/**
 * A version that was asked for; `fresh`: the page has the path with it. `act` was pressed for it, in a message whose
 * upper edge was at `top`.
 * @typedef {{seq: number, fresh: boolean, act: string, top: number}} Coming
 */

/**
 * The message that is edited; `below`: how many messages of person and agent follow it.
 * @typedef {{editor: MessageEditor, id: string, row: HTMLElement, ref: string, client: string, sent: string,
 *   below: number}} Open
 */

const UNDO_SECONDS = 20;
const lostText = () => say("The connection was lost. Your text is kept here; send it again.");
const busyText = () =>
  say(
    "This can't be sent while an answer is written, or without a connection. Your text stays here.",
  );

export class Branches {
  /**
   * @param {Page} page
   * @param {Wiring} wiring
   */
  constructor(page, wiring) {
    this.page = page;
    this.wiring = wiring;
    /** @type {Open|null} */
    this.open = null;
    /** @type {Coming|null} */
    this.coming = null;
    const box = byId("draft", HTMLTextAreaElement);
    box.addEventListener("keydown", (event) => {
      if (event.key !== "ArrowUp" || box.value || event.defaultPrevented || event.isComposing)
        return;
      if (event.shiftKey || event.ctrlKey || event.metaKey || event.altKey) return;
      if (this.editLast()) event.preventDefault();
    });
  }

  /** Opens the last message that the person wrote; false where there is none. */
  editLast() {
    const last = this.wiring
      .state()
      .messages.findLast(({ role, source }) => role === "user" && source === "web");
    return Boolean(last && this.edit(last.id, { back: byId("draft") }));
  }

  /**
   * Opens a stored message in its place.
   * @param {string} id
   * @param {{back?: HTMLElement}} [how] `back`: what is focused when it is given up; else its row
   * @returns {boolean} whether it is there
   */
  edit(id, { back } = {}) {
    const message = this.wiring.state().messages.find((one) => one.id === id);
    const row = message && this.wiring.place(message.seq);
    if (!message || !row) return false;
    if (this.open?.id === id) {
      this.open.editor.box.focus();
      return true;
    }
    this.close();
    const asks = message.role === "user";
    const below = this.#below(message.seq);
    const editor = new MessageEditor({
      text: message.content ?? "",
      attachments: message.attachments,
      about: !asks
        ? say("What the model wrote is kept as a version.")
        : below
          ? sayCount(
              "Sending gets a new answer. This version and the {count} message below it are kept: ‹ and › lead back to them.",
              "Sending gets a new answer. This version and the {count} messages below it are kept: ‹ and › lead back to them.",
              below,
            )
          : say("Sending gets a new answer. This version is kept: ‹ and › lead back to it."),
      send: asks ? (text, files) => this.#send(text, files) : null,
      save: (text) => void this.#save(text),
      cancel: () => {
        this.close({ focus: true });
        back?.focus({ preventScroll: true });
      },
    });
    this.open = { editor, id, row, ref: "", client: uuid(), sent: "", below };
    const { top } = row.getBoundingClientRect();
    row.classList.add("editing");
    row.querySelector(".body")?.after(editor.element);
    // At the end of a chat the end stays in sight when something grows, which would push this message out of it.
    this.wiring.hold(message.seq, top);
    editor.open();
    return true;
  }

  close({ focus = false } = {}) {
    const { open } = this;
    this.open = null;
    if (!open) return;
    open.editor.element.remove();
    open.row.classList.remove("editing");
    if (focus) open.row.focus({ preventScroll: true });
  }

  /**
   * Follows what happens to the message that is being edited; its text is never lost.
   * @param {State} state
   * @param {State} before
   */
  update(state, before) {
    if (this.coming && before.stale && !state.stale) {
      this.coming.fresh = true;
      this.#arrive(this.coming);
    }
    const { open } = this;
    if (!open) return;
    const there =
      state.conversationId === before.conversationId &&
      state.messages.some(({ id }) => id === open.id);
    if (!there) {
      const { changed, box, element } = open.editor;
      // The message went with its row: a new branch is followed at the message box.
      const held =
        element.contains(document.activeElement) || document.activeElement === document.body;
      this.close();
      if (held) byId("draft").focus();
      // Without a new branch of one's own, the message left the page for another reason.
      if (open.sent === box.value) this.#tellKept(open);
      else if (changed) this.wiring.keep(box.value);
      return;
    }
    if (!open.ref) return;
    const refused = state.refusal !== before.refusal && state.refusal?.ref === open.ref;
    const lost = before.opened && !state.opened;
    if (!refused && !lost) return;
    open.ref = "";
    open.editor.wait(false, refused ? state.refusal?.message : lostText());
  }

  /**
   * @param {string} text
   * @param {Attachment[]} files
   */
  #send(text, files) {
    const { open } = this;
    if (!open) return;
    // The same text is sent under the same id, so that it can't begin two branches.
    if (open.sent !== text) open.client = uuid();
    const attachments = files.map(({ id }) => id);
    open.ref = this.wiring.edit(open.id, { text, attachments, client_id: open.client });
    if (!open.ref) return open.editor.wait(false, busyText());
    open.sent = text;
    open.editor.wait(true);
    announce(say("Asked again from here. The earlier version is kept."));
  }

  /** @param {number} seq */
  #below(seq) {
    return this.wiring
      .state()
      .messages.filter((one) => one.seq > seq && ["user", "assistant"].includes(one.role)).length;
  }

  /**
   * What was below the former version has just left the page: where it is, and a way back.
   * @param {Open} open
   */
  #tellKept({ id, below }) {
    const words = below
      ? sayCount(
          "Your earlier version and the {count} message below it are kept.",
          "Your earlier version and the {count} messages below it are kept.",
          below,
        )
      : say("Your earlier version is kept.");
    toast(words, {
      label: below ? say("Show them") : say("Show it"),
      seconds: UNDO_SECONDS,
      about: "kept",
      act: () => void this.show(id),
    });
  }

  /** @param {string} text */
  async #save(text) {
    const { open } = this;
    if (!open) return;
    open.editor.wait(true);
    try {
      await this.wiring.change("PUT", `${this.page.urls.messages}/${open.id}/text`, { text });
      if (this.open === open) this.close({ focus: true });
      announce(say("The text was changed."));
    } catch (error) {
      open.editor.wait(false, /** @type {Error} */ (error).message);
    }
  }

  /**
   * Deletes a message; for some seconds the page offers to restore it, and for an hour the server can.
   * @param {string} id
   */
  async remove(id) {
    const path = `${this.page.urls.messages}/${id}`;
    const { messages } = this.wiring.state();
    const place = messages.findIndex((one) => one.id === id);
    const next = messages[place + 1];
    const what =
      messages[place]?.role === "assistant" ? say("Answer deleted.") : say("Message deleted.");
    try {
      await this.wiring.change("DELETE", path);
    } catch (error) {
      return showError(error);
    }
    announce(say("The message was deleted."));
    ((next && this.wiring.place(next.seq)) || byId("draft")).focus({ preventScroll: true });
    toast(say("{what} It isn't sent or found any more.", { what }), {
      label: say("Undo"),
      seconds: UNDO_SECONDS,
      about: `deleted-${id}`,
      act: () => void this.#restore(path),
    });
  }

  /** @param {string} path of the message */
  async #restore(path) {
    try {
      await this.wiring.change("POST", `${path}/restore`);
      announce(say("The message is back."));
    } catch (error) {
      showError(error);
    }
  }

  /**
   * Shows another version of a message, with what was below it.
   * @param {string} id
   */
  async show(id) {
    const pressed = /** @type {HTMLElement|null} */ (document.activeElement);
    const top = pressed?.closest("article")?.getBoundingClientRect().top ?? 0;
    const coming = { seq: 0, fresh: false, act: pressed?.dataset.act ?? "", top };
    this.coming = coming;
    try {
      ({ seq: coming.seq } = await sendChange("POST", `${this.page.urls.messages}/${id}/show`));
      announce(say("Another version is shown."));
      this.#arrive(coming);
    } catch (error) {
      showError(error);
    }
  }

  /**
   * The version that was asked for is in the page: it stays in its place, and the focus at its arrows.
   * @param {Coming} coming
   */
  #arrive(coming) {
    if (this.coming !== coming || !coming.fresh || !coming.seq) return;
    this.coming = null;
    const row = this.wiring.hold(coming.seq, coming.top);
    if (!row || !document.activeElement?.matches("body, article")) return;
    for (const act of [coming.act, coming.act === "earlier" ? "later" : "earlier"]) {
      const button =
        act && /** @type {HTMLElement|null} */ (row.querySelector(`[data-act="${act}"]:enabled`));
      if (button) return button.focus({ preventScroll: true });
    }
  }
}
