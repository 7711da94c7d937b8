/** The line under a message or an answer that failed or was cut short, with its actions. */

import { h, setChildren } from "../elements/dom.js";
import { icon } from "../elements/icons.js";

/** @import { ItemGroup, Item } from "../state/items.js" */

/** @type {Record<string, string>} */
const ENDINGS = {
  stopped: "Stopped. What was written is kept.",
  interrupted: "Interrupted. What was written is kept.",
  failed: "The answer failed. What was written is kept.",
};
/** @type {Record<string, string>} */
const FINISHES = {
  length: "The answer reached the longest length this agent allows.",
  content_filter: "The provider's filter ended the answer.",
};
const UNFINISHED = "No answer was written after this.";

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
  const text = problem?.message ?? "This message was not answered.";
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
    const words = { reuse: "Write it again", continue: "Continue", again: "Try again" };
    setChildren(this.element, icon("warn", 14), h("span", {}, ended.text, ended.choices.map((choice) => [" ",
      h("button", { type: "button", class: "link", on: { click: () => this.acts[choice]() } }, words[choice])]).flat()));
  }
}
