/** What can be done about one message: reply, pin, leave out, bring back, forget, and why it is or isn't sent. */

import { callWords } from "./tool-calls.js";
import { h, put } from "../elements/dom.js";
import { short } from "../state/format.js";
import { icon } from "../elements/icons.js";
import { Popover } from "../elements/popover.js";

/**
 * @typedef {{label: string, act: () => void}} Choice
 * @typedef {{reply: (item: import("../state/items.js").Item) => void, why: (item: import("../state/items.js").Item) => void,
 *   mark: (id: string, mark: "pinned"|"excluded"|"forget_above", on: boolean) => void,
 *   bringBack: (turns: number[]) => void}} Wishes
 */

export class MessageMenu {
  /**
   * @param {() => {item: import("../state/items.js").Item, verdict: import("../state/state.js").Verdict|null}} about
   * @param {Wishes} wishes
   */
  constructor(about, wishes) {
    this.about = about;
    this.wishes = wishes;
    const { item } = about();
    this.button = h("button", {
      type: "button", class: "m-more", "aria-haspopup": "dialog", "aria-expanded": "false",
      "aria-label": `Actions for “${short(titleOf(item), 40)}”`,
    }, icon("more"));
    this.element = h("span", { class: "m-menu" }, this.button);
    this.popover = new Popover(this.button, {
      label: "What to do with this message", class: "menu", free: true, fill: (box) => this.#fill(box),
    });
    this.popover.box.addEventListener("keydown", (event) => this.#walk(event));
  }

  /** While it is open it follows what changes. */
  refresh() {
    if (!this.popover.shown) return;
    const buttons = [...this.popover.box.children];
    const offered = this.#choices();
    if (offered.every(({ label }, index) => buttons[index]?.textContent === label)) return;
    const at = buttons.indexOf(/** @type {Element} */ (document.activeElement));
    this.#fill(this.popover.box);
    /** @type {HTMLElement|undefined} */ (this.popover.box.children[at])?.focus();
  }

  #choices() {
    const { item, verdict } = this.about();
    return choices(item, verdict, this.wishes);
  }

  #fill(box) {
    put(box, this.#choices().map(({ label, act }, index) =>
      h("button", {
        type: "button", "data-first": index === 0, on: { click: () => (this.popover.close(), act()) },
      }, label)));
  }

  /** @param {KeyboardEvent} event */
  #walk(event) {
    const buttons = [...this.popover.box.querySelectorAll("button")];
    const at = buttons.indexOf(/** @type {HTMLButtonElement} */ (document.activeElement));
    const to = { ArrowDown: at + 1, ArrowUp: at - 1, Home: 0, End: -1 }[event.key];
    if (to === undefined) return;
    event.preventDefault();
    buttons.at(to % buttons.length)?.focus();
  }
}

/** What a message is called by: its text, or the tools that it calls. */
const titleOf = ({ content, calls, attachments }) =>
  content || calls.map(callWords).join(", ") || attachments.map(({ name }) => name).join(", ");

/**
 * @param {import("../state/items.js").Item} item
 * @param {import("../state/state.js").Verdict|null} verdict
 * @param {Wishes} wishes
 * @returns {Choice[]}
 */
function choices(item, verdict, { reply, mark, bringBack, why }) {
  const id = /** @type {string} */ (item.id);
  const question = { label: verdict?.sent ? "Why is it sent?" : "Why did it forget?", act: () => why(item) };
  // A greeting is never sent, whatever is marked on it.
  if (item.greets) return [question];
  const line = item.forgets
    ? { label: "Remember again", act: () => mark(id, "forget_above", false) }
    : { label: "Forget what is above", act: () => mark(id, "forget_above", true) };
  // An answer can go by itself; a tool call takes the answer that rests on it along.
  const leave = item.calls.length ? "Leave its turn out" : "Leave out";
  return [
    // Nothing of a message that only calls tools could be quoted.
    ...(item.content || item.attachments.length ? [{ label: "Reply", act: () => reply(item) }] : []),
    ...(item.unloaded ? [{ label: "Bring its turn back", act: () => bringBack([item.start]) }] : []),
    { label: item.pinned ? "Unpin" : "Pin", act: () => mark(id, "pinned", !item.pinned) },
    { label: item.excluded ? "Take back in" : leave, act: () => mark(id, "excluded", !item.excluded) },
    ...(item.first && !item.forgets ? [] : [line]),
    question,
  ];
}
