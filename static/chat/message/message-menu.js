/** The menu of one message: reply, pin, leave out, bring back, forget, and why it is or isn't sent. */

import { h, setChildren } from "../elements/dom.js";
import { icon } from "../elements/icons.js";
import { Popover } from "../elements/popover.js";
import { shorten } from "../state/format.js";
import { describeCall } from "../state/tool-calls.js";
import { say } from "../words/say.js";

/**
 * @import { Item } from "../state/items.js"
 * @import { MarkName, Verdict } from "../types/wire.js"
 */

/**
 * @typedef {{label: string, act: () => void}} Choice
 * @typedef {{reply: (item: Item) => void, why: (item: Item) => void,
 *   mark: (id: string, mark: MarkName, on: boolean) => void,
 *   bringBack: (turns: number[]) => void, edit: (id: string) => void, remove: (id: string) => void}} MenuActions
 */

export class MessageMenu {
  /**
   * @param {() => {item: Item, verdict: Verdict|null}} about
   * @param {MenuActions} actions
   */
  constructor(about, actions) {
    this.about = about;
    this.actions = actions;
    const { item } = about();
    this.button = h("button", {
      type: "button", class: "m-more", "aria-haspopup": "dialog", "aria-expanded": "false",
      "aria-label": say("Actions for “{message}”", { message: shorten(titleOf(item), 40) }),
    }, icon("more"));
    this.element = h("span", { class: "m-menu" }, this.button);
    this.popover = new Popover(this.button, {
      label: say("What to do with this message"), class: "menu", free: true, fill: (box) => this.#fill(box),
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
    return menuChoices(item, verdict, this.actions);
  }

  /** @param {HTMLElement} box */
  #fill(box) {
    setChildren(box, this.#choices().map(({ label, act }, index) =>
      h("button", {
        type: "button", "data-first": index === 0, on: { click: () => (this.popover.close(), act()) },
      }, label)));
  }

  /** @param {KeyboardEvent} event */
  #walk(event) {
    const buttons = [...this.popover.box.querySelectorAll("button")];
    const at = buttons.indexOf(/** @type {HTMLButtonElement} */ (document.activeElement));
    /** @type {Record<string, number>} */
    const places = { ArrowDown: at + 1, ArrowUp: at - 1, Home: 0, End: -1 };
    const to = places[event.key];
    if (to === undefined) return;
    event.preventDefault();
    buttons.at(to % buttons.length)?.focus();
  }
}

/**
 * A name for the message: its text, its tool calls, or its files.
 * @param {Item} item
 */
const titleOf = ({ content, calls, attachments }) =>
  content || calls.map(describeCall).join(", ") || attachments.map(({ name }) => name).join(", ");

/**
 * @param {Item} item
 * @param {Verdict|null} verdict
 * @param {MenuActions} actions
 * @returns {Choice[]}
 */
function menuChoices(item, verdict, { reply, mark, bringBack, why, edit, remove }) {
  const id = /** @type {string} */ (item.id);
  const question = { label: verdict?.sent ? say("Why is this sent?") : say("Why did it forget?"), act: () => why(item) };
  // A greeting is never sent, whatever is marked on it.
  if (item.greets) return [question];
  // A tool call goes with its answer, whose text has a menu of its own.
  const changes = item.calls.length ? [] : [
    ...(item.background ? [] : [{ label: say("Edit"), act: () => edit(id) }]),
    { label: say("Delete"), act: () => remove(id) },
  ];
  const line = item.forgets
    ? { label: say("Remember again"), act: () => mark(id, "forget_above", false) }
    : { label: say("Forget everything above"), act: () => mark(id, "forget_above", true) };
  // An answer can be left out alone; a tool call only together with the answer that rests on it.
  const leave = item.calls.length ? say("Don't send this exchange") : say("Don't send");
  return [
    // A message that only calls tools has nothing to quote.
    ...(item.content || item.attachments.length ? [{ label: say("Reply"), act: () => reply(item) }] : []),
    ...(item.unloaded ? [{ label: say("Bring this exchange back"), act: () => bringBack([item.start]) }] : []),
    { label: item.pinned ? say("Unpin") : say("Pin"), act: () => mark(id, "pinned", !item.pinned) },
    { label: item.excluded ? say("Send again") : leave, act: () => mark(id, "excluded", !item.excluded) },
    ...(item.first && !item.forgets ? [] : [line]),
    question,
    ...changes,
  ];
}
