/** The quiet line under a message of the person: what of it could be kept in force, or is. */

import { h, setChildren, textButton } from "../elements/dom.js";
import { icon } from "../elements/icons.js";
import { say } from "../words/say.js";

/** @import { Item } from "../state/items.js" */
/** @import { MarkName } from "../types/wire.js" */

export class InstructionLine {
  /** @param {(id: string, mark: MarkName, on: boolean) => void} mark */
  constructor(mark) {
    this.mark = mark;
    this.element = h("p", { class: "instruction", hidden: true });
    this.drawn = "";
  }

  /** @param {Item} item */
  update({ id, content, inForce, offered }) {
    const drawn = JSON.stringify([id, content, inForce, offered]);
    if (!id || drawn === this.drawn) return;
    this.drawn = drawn;
    this.element.hidden = !inForce && !offered;
    if (this.element.hidden) return;
    const said = (inForce || offered).replaceAll("\n", " ");
    /** @type {(label: string, name: MarkName, on: boolean) => HTMLElement} */
    const button = (label, name, on) => textButton(label, () => this.mark(id, name, on));
    const offer = [
      content.trim() === offered ? "" : `“${said}” · `,
      button(say("Keep in force here"), "in_force", true),
      " · ",
      button(say("No, thanks"), "no_offer", true),
    ];
    const kept = [
      say("In force: “{said}”", { said }),
      " · ",
      button(say("End it"), "in_force", false),
    ];
    setChildren(this.element, inForce && icon("pin", 13), h("span", {}, inForce ? kept : offer));
  }
}
