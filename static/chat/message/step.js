/** One message of an answer: its reasoning, its text and its tool calls. */

import { h } from "../elements/dom.js";
import { FormattedText } from "../text/formatted-text.js";
import { say } from "../words/say.js";
import { MarkLine } from "./mark-line.js";
import { Reasoning } from "./reasoning.js";
import { ToolCallLines } from "./tool-calls.js";
import { WaitingLine } from "./waiting-line.js";

/**
 * @import { Actions } from "./row.js"
 * @import { Item, ContextStatus } from "../state/items.js"
 */

export class AnswerStep {
  /**
   * @param {Item} item
   * @param {Pick<Actions, "memory"|"mark"|"keepWhole"|"onlyReads">} actions
   */
  constructor(item, actions) {
    this.item = item;
    this.reasoning = new Reasoning(actions.memory);
    this.text = new FormattedText();
    this.calls = new ToolCallLines(actions.memory.open, actions);
    this.waiting = new WaitingLine();
    this.mark = new MarkLine({
      gave: { label: say("Send it whole"), act: ({ gone = [] }) => actions.keepWhole(gone, true) },
    });
    this.element = h(
      "div",
      { class: "step", tabindex: "-1" },
      this.reasoning.element,
      this.text.element,
      this.calls.element,
      this.waiting.element,
      this.mark.element,
    );
    this.update(item);
  }

  /** @param {Item} item */
  update(item) {
    const { writing, content, reasoning, coming, hint, idle } = item;
    this.item = item;
    if (item.seq !== null) this.element.dataset.seq = String(item.seq);
    this.reasoning.update(item.key, reasoning, writing && !content && !coming.length);
    if (writing) this.text.write(content);
    else this.text.show(content);
    // The cursor isn't needed where something else moves already.
    this.text.element.hidden =
      !content && (!writing || idle || Boolean(reasoning || coming.length || hint));
    this.calls.update(item.key, item.calls, coming);
    this.waiting.update(hint);
  }

  /** @param {ContextStatus} standing */
  updateStatus({ out, mark }) {
    this.element.classList.toggle("out", out);
    this.mark.update(mark);
  }
}
