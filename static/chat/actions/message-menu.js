/** The menu at the end of a message's row: what is done rarely, for each of an answer's messages. */

import { h, pressable, setChildren } from "../elements/dom.js";
import { icon } from "../elements/icons.js";
import { walkMenu } from "../elements/menu-keys.js";
import { Popover } from "../elements/popover.js";
import { describeCall } from "../state/tool-calls.js";
import { say } from "../words/say.js";
import { menuActions } from "./table.js";

/**
 * @import { About, Action, Doing } from "./table.js"
 */

export class MessageMenu {
  /**
   * @param {string} title of the message
   * @param {() => About[]} about the messages that it is for
   * @param {Doing} doing
   */
  constructor(title, about, doing) {
    this.about = about;
    this.doing = doing;
    this.drawn = "";
    this.button = h(
      "button",
      {
        type: "button",
        class: "act act-more",
        "data-act": "more",
        "aria-label": say("More actions for “{message}”", { message: title }),
        title: say("More"),
      },
      icon("more"),
    );
    this.element = h("span", { class: "act-menu" }, this.button);
    this.popover = new Popover(this.button, {
      label: say("What to do with this message"),
      class: "menu",
      free: true,
      fill: (box) => this.#fill(box),
    });
    walkMenu(this.popover.box);
  }

  /**
   * @param {About} about
   * @param {Doing} doing
   */
  static has(about, doing) {
    return menuActions(about, doing).length > 0;
  }

  /** While it is open it follows what changes. */
  refresh() {
    if (!this.popover.shown || JSON.stringify(this.#labels()) === this.drawn) return;
    const { box } = this.popover;
    const at = this.#buttons.indexOf(/** @type {HTMLButtonElement} */ (document.activeElement));
    this.#fill(box);
    this.#buttons[at]?.focus();
  }

  get #buttons() {
    return [...this.popover.box.querySelectorAll("button")];
  }

  /** @returns {[About, Action[]][]} */
  #sections() {
    return this.about().map((about) => [about, menuActions(about, this.doing)]);
  }

  #labels() {
    return this.#sections().map(([about, actions]) => actions.map(({ label }) => label(about)));
  }

  /** @param {HTMLElement} box */
  #fill(box) {
    this.drawn = JSON.stringify(this.#labels());
    const sections = this.#sections();
    setChildren(
      box,
      sections.flatMap(([about, actions], index) => [
        index > 0 &&
          h(
            "h3",
            { class: "act-part cut" },
            about.item.calls.map(describeCall).join(", ") || about.item.content,
          ),
        ...actions.map((action) =>
          pressable(
            { "data-first": index === 0 && action === actions[0] },
            // What is done may draw the row anew, so the focus goes back first.
            () => (this.popover.close(), void action.act(about, this.doing)),
            action.label(about),
          ),
        ),
      ]),
    );
  }
}
