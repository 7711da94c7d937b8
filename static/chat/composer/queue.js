/**
 * What is written while an answer is being written: it waits above the message box, can be changed and reordered, and is
 * sent message by message as turns end. After a stop, a failure or a reload nothing is sent by itself: a person decides.
 */

import { announce } from "../elements/announce.js";
import { byId, h, pressable, setChildren, textButton } from "../elements/dom.js";
import { icon } from "../elements/icons.js";
import { toast } from "../elements/toast.js";
import { loadQueue, storeQueue } from "../net/drafts.js";
import { uuid } from "../net/ids.js";
import { changeText, MOST, move, turnEnding, withoutMessage } from "../state/queue.js";
import { say, sayCount } from "../words/say.js";

/**
 * @import { IconName } from "../elements/icons.js"
 * @import { Queued } from "../state/queue.js"
 * @import { Draft, State } from "../types/state.js"
 */

export class Queue {
  /** @param {{send: (message: Queued) => void, fits: (text: string) => boolean}} actions */
  constructor(actions) {
    this.actions = actions;
    this.box = byId("queue");
    this.conversation = "";
    /** @type {Queued[]} */
    this.list = [];
    /** Nothing is sent by itself. */
    this.held = false;
    this.running = false;
    this.editing = "";
    // Another tab of this conversation sent or changed one.
    addEventListener("storage", (event) => {
      if (event.key?.endsWith(`queue:${this.conversation}`))
        this.#show(loadQueue(this.conversation));
    });
  }

  /** @param {string} conversation */
  enter(conversation) {
    this.conversation = conversation;
    this.held = true;
    this.editing = "";
    this.#show(loadQueue(conversation));
  }

  /**
   * @param {Draft} draft
   * @returns {boolean} false where no more may wait
   */
  add(draft) {
    if (this.list.length >= MOST) return false;
    if (!this.list.length) this.held = false;
    this.#store([...this.list, { ...draft, client_id: uuid() }]);
    announce(say("Your message waits. It is sent when the answer is complete."));
    return true;
  }

  /**
   * @param {State} state
   * @param {State} before
   */
  update(state, before) {
    const ending = turnEnding(state, before);
    const running = state.turn !== null || state.pending.length > 0;
    const changed = running !== this.running || ending !== null;
    // Stopped, failed, or the message before was refused.
    if (this.running && !running && ending !== "complete") this.held = true;
    this.running = running;
    if (ending === "complete" && !this.held && !this.editing && !running) this.#sendFirst();
    else if (changed) this.#draw();
  }

  #sendFirst() {
    const [first, ...rest] = this.list;
    if (!first) return;
    this.held = false;
    this.#store(rest);
    this.actions.send(first);
  }

  /** @param {Queued[]} list */
  #store(list) {
    storeQueue(this.conversation, list);
    this.#show(list);
  }

  /** @param {Queued[]} list */
  #show(list) {
    this.list = list;
    this.#draw();
  }

  #draw() {
    const { list, held, running } = this;
    const focused = this.box.contains(document.activeElement);
    const act = /** @type {HTMLElement|null} */ (document.activeElement)?.dataset.queued ?? "";
    this.box.hidden = !list.length;
    if (!list.length) {
      setChildren(this.box);
      if (focused) byId("draft").focus();
      return;
    }
    const words = held
      ? sayCount("{count} message is not sent", "{count} messages are not sent", list.length)
      : sayCount(
          "{count} message waits for the answer",
          "{count} messages wait for the answer",
          list.length,
        );
    setChildren(
      this.box,
      h(
        "div",
        { class: "queue-head" },
        h("span", {}, words),
        held &&
          textButton(
            list.length > 1 ? say("Send the first now, the others after it") : say("Send it now"),
            () => this.#sendFirst(),
            { disabled: running, "data-queued": "send" },
          ),
      ),
      h(
        "ol",
        {},
        list.map((one, index) =>
          one.client_id === this.editing ? this.#editor(one) : this.#row(one, index),
        ),
      ),
    );
    if (act) this.#holdFocus(act);
  }

  /**
   * The button that was pressed may be gone, or lead no further.
   * @param {string} act
   */
  #holdFocus(act) {
    const other = act.startsWith("up-") ? act.replace("up-", "down-") : act.replace("down-", "up-");
    const find = (/** @type {string} */ name) =>
      /** @type {HTMLElement|null} */ (
        this.box.querySelector(`[data-queued="${CSS.escape(name)}"]:enabled`)
      );
    (find(act) ?? find(other) ?? byId("draft")).focus();
  }

  /**
   * @param {Queued} one
   * @param {number} index
   */
  #row(one, index) {
    const { client_id: id, text, attachments } = one;
    const files =
      attachments.length > 0 && sayCount("{count} file", "{count} files", attachments.length);
    return h(
      "li",
      {},
      h("p", { class: "queue-text" }, text, files && h("span", { class: "quiet" }, ` · ${files}`)),
      this.#button(
        id,
        "up",
        "up",
        say("Earlier"),
        () => this.#store(move(this.list, id, -1)),
        index === 0,
      ),
      this.#button(
        id,
        "down",
        "down",
        say("Later"),
        () => this.#store(move(this.list, id, 1)),
        index === this.list.length - 1,
      ),
      this.#button(id, "edit", "pencil", say("Change"), () => this.#edit(id)),
      this.#button(id, "remove", "close", say("Remove"), () => this.#remove(one)),
    );
  }

  /**
   * @param {string} id
   * @param {string} name
   * @param {IconName} drawing
   * @param {string} label
   * @param {() => void} act
   * @param {boolean} [disabled]
   */
  #button(id, name, drawing, label, act, disabled = false) {
    const names = { "aria-label": label, title: label, "data-queued": `${name}-${id}` };
    return pressable({ class: "icon", ...names, disabled }, act, icon(drawing, 14));
  }

  /** @param {string} id */
  #edit(id) {
    this.editing = id;
    this.#draw();
    this.box.querySelector("textarea")?.focus();
  }

  /** @param {Queued} one */
  #editor({ client_id: id, text }) {
    const area = h("textarea", {
      rows: "3",
      dir: "auto",
      "aria-label": say("The message that waits"),
    });
    area.value = text;
    const close = () => {
      this.editing = "";
      this.#draw();
      byId("draft").focus();
    };
    const keep = () => {
      if (!area.value.trim() || !this.actions.fits(area.value)) return area.focus();
      this.#store(changeText(this.list, id, area.value));
      close();
    };
    area.addEventListener("keydown", (event) => {
      if (event.isComposing) return;
      if (event.key === "Escape") (event.preventDefault(), event.stopPropagation(), close());
      if (event.key === "Enter" && (event.ctrlKey || event.metaKey))
        (event.preventDefault(), keep());
    });
    return h(
      "li",
      { class: "queue-editor" },
      area,
      textButton(say("Keep"), keep),
      textButton(say("Cancel"), close),
    );
  }

  /** @param {Queued} one */
  #remove(one) {
    const before = this.list;
    this.#store(withoutMessage(before, one.client_id));
    toast(say("The message is removed."), {
      label: say("Undo"),
      about: "queue",
      act: () => this.#store(before),
    });
    byId("draft").focus();
  }
}
