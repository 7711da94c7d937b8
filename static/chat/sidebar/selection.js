/** Several conversations at once: which are selected, and the foot of the list, where they are changed. */

import { announce } from "../elements/announce.js";
import { h, pressable, setChildren, setText, textButton } from "../elements/dom.js";
import { Popover } from "../elements/popover.js";
import { say, sayCount } from "../words/say.js";

/**
 * @import { Change } from "./arranging.js"
 * @import { Sidebar } from "./sidebar.js"
 */

export class Selection {
  /** @param {Sidebar} sidebar */
  constructor(sidebar) {
    this.sidebar = sidebar;
    this.on = false;
    /** @type {Set<string>} */
    this.ids = new Set();
    /** The row from which Shift goes on. */
    this.anchor = "";
    this.words = h("span", { class: "chosen-count" });
    this.foot = h("div", { class: "convs-foot" });
    this.draw();
  }

  end() {
    if (!this.on) return this.draw();
    const held = this.foot.contains(document.activeElement);
    this.on = false;
    this.ids.clear();
    this.draw();
    this.sidebar.draw();
    if (held) this.focus();
  }

  /** @param {string} id */
  toggle(id) {
    this.anchor = id;
    if (!this.ids.delete(id)) this.ids.add(id);
    this.start();
  }

  /** @param {string} id to which all are selected, from the row that was last selected */
  extend(id) {
    const order = this.sidebar.order();
    if (!order.includes(this.anchor)) this.anchor = id;
    const [low, high] = [order.indexOf(this.anchor), order.indexOf(id)].sort((a, b) => a - b);
    for (const one of order.slice(low, high + 1)) this.ids.add(one);
    this.start();
  }

  /** Whether a click on a row selects it. @param {MouseEvent} event @param {string} id */
  takes(event, id) {
    const { shiftKey, ctrlKey, metaKey } = event;
    if (!(shiftKey || ctrlKey || metaKey || this.on)) return false;
    event.preventDefault();
    if (shiftKey) this.extend(id);
    else this.toggle(id);
    return true;
  }

  /** @param {string[]} there those that are listed now */
  keep(there) {
    for (const id of this.ids) if (!there.includes(id)) this.ids.delete(id);
    this.#count();
  }

  focus() {
    this.foot.querySelector("button")?.focus();
  }

  /** Shows what is selected, nothing at first. */
  start() {
    if (!this.on) {
      this.on = true;
      this.draw();
    }
    this.#count();
    announce(this.words.textContent ?? "");
    this.sidebar.draw();
  }

  #count() {
    setText(this.words, sayCount("{count} selected", "{count} selected", this.ids.size));
    for (const button of this.foot.querySelectorAll("[data-several]"))
      /** @type {HTMLButtonElement} */ (button).disabled = !this.ids.size;
  }

  draw() {
    setChildren(this.foot, this.on ? this.#bar() : this.#entries());
    this.#count();
  }

  #entries() {
    const shown = Boolean(this.sidebar.archive);
    return [
      textButton(
        shown ? say("Back to the list") : say("Archived"),
        () => this.sidebar.showArchive(!shown),
        { "data-drop": shown ? null : "archive" },
      ),
      // Where nothing is pinned yet; seen while something is dragged.
      h("span", { class: "drop-pin", "data-drop": shown ? null : "pinned" }, say("Pin")),
      textButton(say("Select"), () => this.start()),
    ];
  }

  #bar() {
    const archived = !this.sidebar.archive;
    /** @type {(words: string, set: Change) => HTMLElement} */
    const button = (words, set) => {
      const act = () => this.sidebar.use((it) => it.change([...this.ids], set));
      return pressable({ "data-several": true }, act, words);
    };
    return [
      this.words,
      textButton(say("Cancel"), () => this.end()),
      h(
        "div",
        { class: "chosen-acts" },
        archived && button(say("Pin"), { pinned: true }),
        archived && this.#move(),
        button(archived ? say("Archive") : say("Unarchive"), { archived }),
        button(say("Delete"), { deleted: true }),
      ),
    ];
  }

  #move() {
    const button = h("button", { type: "button", "data-several": true }, say("Move"));
    const place = h("span", {}, button);
    const menu = new Popover(button, {
      label: say("Move to folder"),
      class: "menu",
      free: true,
      fill: (box) => this.sidebar.use((it) => it.fillMove(box, menu, [...this.ids])),
    });
    return place;
  }
}
