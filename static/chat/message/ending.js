/** The line under a message or an answer that failed or was cut short, with its actions. */

import { h, setChildren } from "../elements/dom.js";
import { icon } from "../elements/icons.js";
import { say } from "../words/say.js";

/** @import { ItemGroup, Item } from "../state/items.js" */

/** @type {Record<string, string>} */
const ENDINGS = {
  stopped: say("Stopped. What was written is kept."),
  interrupted: say("Interrupted. What was written is kept."),
  failed: say("The answer failed. What was written is kept."),
};
/** @type {Record<string, string>} */
const FINISHES = {
  length: say("The answer hit this agent's length limit."),
  content_filter: say("The provider's content filter stopped the answer."),
};
const UNFINISHED = say("This message has no answer.");

/**
 * @typedef {"reuse"|"continue"|"again"} Choice
 * @typedef {{text: string, bad: boolean, choices: Choice[]}|null} Ended
 */

/**
 * @param {ItemGroup} group
 * @returns {Ended}
 */
export function describeEnding({ items, last }) {
  const item = /** @type {Item} */ (items.at(-1));
  if (item.role === "user") return describeUserEnding(item, last);
  if (item.writing) return null;
  const unfinished = item.calls.length > 0 && last;
  const text = ENDINGS[item.state] ?? FINISHES[item.finish] ?? (unfinished ? UNFINISHED : "");
  if (!text) return null;
  const open = item.state in ENDINGS || item.finish === "length";
  const longer = last && open && Boolean(item.content.trim()) && !item.calls.length;
  /** @type {Choice[]} */
  const choices = last ? (longer ? ["continue", "again"] : ["again"]) : [];
  return { text, bad: item.state === "failed", choices };
}

/**
 * @param {Item} item of a user message
 * @param {boolean} last
 * @returns {Ended}
 */
function describeUserEnding({ problem, failed }, last) {
  if (!problem && !failed) return null;
  const text = problem?.message ?? say("This message was not answered.");
  return { text, bad: true, choices: failed && last ? ["again", "reuse"] : ["reuse"] };
}

export class Ending {
  /** @param {Record<Choice, () => void>} acts */
  constructor(acts) {
    this.acts = acts;
    this.element = h("p", { class: "ending", hidden: true });
    this.drawn = "";
  }

  /** @param {Ended} ended */
  update(ended) {
    const drawn = JSON.stringify(ended);
    if (drawn === this.drawn) return;
    this.drawn = drawn;
    this.element.hidden = !ended;
    this.element.classList.toggle("bad", Boolean(ended?.bad));
    if (!ended) return setChildren(this.element);
    const words = { reuse: say("Edit and resend"), continue: say("Continue"), again: say("Try again") };
    setChildren(this.element, icon("warn", 14), h("span", {}, ended.text, ended.choices.map((choice) => [" ",
      h("button", { type: "button", class: "link", on: { click: () => this.acts[choice]() } }, words[choice])]).flat()));
  }
}
