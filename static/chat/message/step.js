/** One message of an answer: its reasoning, its text and its tool calls. */

import { h } from "../elements/dom.js";
import { render } from "../text/markdown.js";
import { Stream } from "../text/stream.js";
import { MarkLine } from "./mark-line.js";
import { MessageMenu } from "./message-menu.js";
import { Reasoning } from "./reasoning.js";
import { ToolCallLines } from "./tool-calls.js";
import { WaitingLine } from "./waiting-line.js";

/**
 * @import { MenuActions } from "./message-menu.js"
 * @import { ViewMemory } from "./reasoning.js"
 * @import { Item, ContextStatus } from "../state/items.js"
 * @import { Verdict } from "../types/wire.js"
 */

/**
 * @typedef {MenuActions & {memory: ViewMemory}} Actions
 */

export class AnswerStep {
  /**
   * @param {Item} item
   * @param {Actions} actions
   */
  constructor(item, actions) {
    this.actions = actions;
    this.item = item;
    /** @type {Stream|null} */
    this.stream = null;
    /** @type {string|null} the text that was drawn last */
    this.shown = null;
    /** @type {Verdict|null} */
    this.verdict = null;
    /** @type {MessageMenu|null} */
    this.menu = null;
    this.reasoning = new Reasoning(actions.memory);
    this.text = h("div", { class: "md", dir: "auto" });
    this.calls = new ToolCallLines(actions.memory.open);
    this.waiting = new WaitingLine();
    this.mark = new MarkLine();
    this.element = h("div", { class: "step", tabindex: "-1" },
      this.reasoning.element, this.text, this.calls.element, this.waiting.element, this.mark.element);
    this.update(item);
  }

  /** @param {Item} item */
  update(item) {
    const { writing, content, reasoning, coming, hint, idle } = item;
    this.item = item;
    if (item.seq !== null) this.element.dataset.seq = String(item.seq);
    this.reasoning.update(item.key, reasoning, writing && !content && !coming.length);
    this.#draw(item);
    // The cursor isn't needed where something else moves already.
    this.text.hidden = !content && (!writing || idle || Boolean(reasoning || coming.length || hint));
    this.calls.update(item.key, item.calls, coming);
    this.waiting.update(hint);
    if (this.menu || item.id === null) return;
    this.menu = new MessageMenu(() => ({ item: this.item, verdict: this.verdict }), this.actions);
  }

  /** @param {ContextStatus} standing */
  updateStatus({ out, mark, verdict }) {
    this.verdict = verdict;
    this.menu?.refresh();
    this.element.classList.toggle("out", out);
    this.mark.update(mark);
  }

  /** @param {Item} item */
  #draw({ writing, content }) {
    if (writing) {
      this.stream ??= new Stream(this.text);
      return this.stream.write(content);
    }
    if (this.stream) {
      this.stream.finish(content);
      this.stream = null;
    } else if (content !== this.shown) this.text.replaceChildren(render(content));
    this.shown = content;
  }
}
