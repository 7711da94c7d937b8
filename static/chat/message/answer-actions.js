/** The actions under an answer: copy it, try again, see what the model saw, show another version. */

import { copy } from "../elements/clipboard.js";
import { h, setChildren } from "../elements/dom.js";
import { icon } from "../elements/icons.js";

/**
 * @import { IconName } from "../elements/icons.js"
 * @import { Version } from "../types/wire.js"
 */

/**
 * @typedef {{turn: string|null, again: boolean, versions: Version[], at: number}} Offered
 *   `at` is the version that is shown
 */

export class AnswerActions {
  /**
   * @param {{text: () => string, retry: () => void, receipt: ((turn: string) => void)|null,
   *   show: (id: string) => void}} acts
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
    const same = act && this.element.querySelector(`[data-act="${act}"]:enabled`);
    if (act) /** @type {HTMLElement|null} */ (same || this.element.querySelector("button:enabled"))?.focus();
  }

  /** @param {Offered} offered */
  #buttons({ turn, again, versions, at }) {
    const { text, receipt } = this.acts;
    const copying = h("button", { type: "button", "data-act": "copy" }, "Copy");
    copying.addEventListener("click", () => copy(text(), copying));
    return [
      versions.length > 1 && at >= 0 && this.#versions(versions, at),
      copying,
      again && h("button", { type: "button", "data-act": "again", on: { click: () => this.acts.retry() } }, "Try again"),
      turn && receipt && h("button", { type: "button", "data-act": "saw", on: { click: () => receipt(turn) } }, "What the model saw"),
    ];
  }

  /**
   * @param {Version[]} versions
   * @param {number} at
   */
  #versions(versions, at) {
    /**
     * @param {string} act
     * @param {string} label
     * @param {IconName} name
     * @param {number} to
     */
    const step = (act, label, name, to) => h("button", {
      type: "button", "data-act": act, "aria-label": label, title: label, disabled: !versions[to],
      on: { click: () => this.acts.show(versions[to].id) },
    }, icon(name, 12));
    return h("span", { class: "versions", role: "group", "aria-label": "Versions of this answer" },
      step("earlier", "Earlier version", "left", at - 1),
      h("span", {}, `${at + 1} / ${versions.length}`),
      step("later", "Later version", "right", at + 1));
  }
}
