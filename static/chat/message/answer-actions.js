/** The actions under an answer: copy it, try again, see what the model saw, show another version. */

import { againMenu } from "../branches/again-menu.js";
import { versionSteps } from "../branches/version-steps.js";
import { copy } from "../elements/clipboard.js";
import { h, setChildren } from "../elements/dom.js";
import { say } from "../words/say.js";

/**
 * @import { ComparisonAnswer } from "../types/page.js"
 * @import { ChoiceChanges, Version } from "../types/wire.js"
 */

/**
 * @typedef {{turn: string|null, again: boolean, copies: boolean, versions: Version[][], at: number[]}} Offered
 *   `versions` of the messages that have some, `at` those that are shown
 */

export class AnswerActions {
  /**
   * @param {{text: () => string, retry: (model?: string, memory?: ChoiceChanges) => void, receipt: ((turn: string) => void)|null,
   *   show: (id: string) => void, models: () => string, memories: (turn: string) => Promise<ComparisonAnswer>}} acts
   *   `models` is the address of those that may answer, `memories` the turn under every policy
   */
  constructor(acts) {
    this.acts = acts;
    this.element = h("div", { class: "acts" });
    this.drawn = "";
  }

  /** @param {Offered|null} offered null where there are no actions yet */
  update(offered) {
    const drawn = JSON.stringify(offered);
    if (drawn === this.drawn) return;
    this.drawn = drawn;
    const held = /** @type {HTMLElement|null} */ (document.activeElement);
    const act = held && this.element.contains(held) ? held.dataset.act : null;
    setChildren(this.element, offered && this.#buttons(offered));
    // The focus stays at the same button while somebody steps through the versions by keyboard.
    const other = act === "earlier" ? "later" : "earlier";
    const places = act ? [`[data-act="${act}"]`, `[data-act="${other}"]`, "button"] : [];
    for (const place of places) {
      const found = /** @type {HTMLElement|null} */ (this.element.querySelector(`${place}:enabled`));
      if (found) return found.focus();
    }
  }

  /** @param {Offered} offered */
  #buttons({ turn, again, copies, versions, at }) {
    const { text, receipt, show, retry, models, memories } = this.acts;
    const copying = h("button", { type: "button", "data-act": "copy" }, say("Copy"));
    copying.addEventListener("click", () => copy(text(), copying));
    return [
      ...versions.map((some, index) => versionSteps(some, at[index], show)),
      copies && copying,
      again && h("button", { type: "button", "data-act": "again", on: { click: () => retry() } }, say("Try again")),
      again && againMenu(models(), retry, turn ? () => memories(turn) : null),
      turn && receipt && h("button", { type: "button", "data-act": "saw", on: { click: () => receipt(turn) } }, say("What the model saw")),
    ];
  }
}
