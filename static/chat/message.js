/** One message of the transcript as an element that can be brought up to date. */

import { copy } from "./clipboard.js";
import { h, put, say } from "./dom.js";
import { time } from "./format.js";
import { icon } from "./icons.js";
import { render } from "./markdown.js";
import { Stream } from "./stream.js";

const ENDINGS = {
  stopped: "Stopped. What was written is kept.",
  interrupted: "Interrupted. What was written is kept.",
  failed: "The answer failed. What was written is kept.",
};
const FINISHES = {
  length: "The answer reached the longest length this agent allows.",
  content_filter: "The provider's filter ended the answer.",
};

/**
 * What a row shows. `content` is all of the text; `writing` while more comes.
 * @typedef {{key: string, role: string, name: string, content: string, seq: number|null, created: string,
 *   state: string, finish: string, turn: string|null, writing: boolean, waiting: boolean,
 *   problem: import("./state.js").Problem|null, failed: boolean}} Item
 * @typedef {{kind: "sent"|"left", sentence: string}|null} Mark
 * @typedef {{inspects: boolean, receipt: (turn: string) => void, reuse: (text: string) => void}} Actions
 */

export class Row {
  /**
   * @param {Item} item
   * @param {Actions} actions
   */
  constructor(item, actions) {
    this.actions = actions;
    this.item = item;
    /** @type {Stream|null} */
    this.stream = null;
    this.shown = "";
    this.stateText = h("span", { class: "state" });
    this.clock = h("time", {});
    this.body = h("div", { class: item.role === "user" ? "body" : "body md", dir: "auto" });
    this.mark = h("p", { class: "mark", hidden: true });
    this.ending = h("p", { class: "ending", hidden: true });
    this.acts = h("div", { class: "acts" });
    this.element = h(
      "article",
      { class: `m ${item.role}`, tabindex: "-1" },
      h("h2", { class: "who" }, item.name, this.stateText, this.clock),
      this.body, this.mark, this.ending, this.acts,
    );
    this.update(item);
  }

  /** @param {Item} item */
  update(item) {
    const before = this.item;
    this.item = item;
    if (item.seq !== null) this.element.dataset.seq = String(item.seq);
    this.element.classList.toggle("waiting", item.waiting);
    this.element.classList.toggle("writing", item.writing);
    this.element.setAttribute("aria-busy", String(item.writing));
    say(this.stateText, item.writing ? "writing…" : item.waiting ? "sending…" : "");
    if (item.created) {
      this.clock.dateTime = item.created;
      say(this.clock, time(item.created));
    }
    this.#draw(item);
    this.#sayEnding(item);
    if (before === item || before.turn !== item.turn || before.writing !== item.writing) this.#offerActions(item);
  }

  /**
   * @param {boolean} out whether the model no longer sees it
   * @param {Mark} mark
   */
  place(out, mark) {
    this.element.classList.toggle("out", out);
    this.mark.hidden = !mark;
    this.mark.className = `mark ${mark?.kind ?? ""}`;
    if (!mark) return put(this.mark);
    const words = mark.kind === "sent" ? "Still sent" : "Not sent";
    put(this.mark, icon(mark.kind === "sent" ? "pin" : "slash", 13), `${words}: ${mark.sentence}`);
  }

  /** @param {Item} item */
  #draw(item) {
    if (item.role === "user") return say(this.body, item.content);
    if (item.writing) {
      this.stream ??= new Stream(this.body);
      return this.stream.write(item.content);
    }
    if (this.stream) {
      this.stream.finish(item.content);
      this.stream = null;
    } else if (item.content !== this.shown) this.body.replaceChildren(render(item.content));
    this.shown = item.content;
  }

  /** @param {Item} item */
  #sayEnding(item) {
    const words = item.writing ? "" : ENDINGS[item.state] ?? FINISHES[item.finish] ?? "";
    const user = item.role === "user";
    const text = item.problem?.message ?? (user ? (item.failed ? "This message was not answered." : "") : words);
    this.ending.hidden = !text;
    this.ending.classList.toggle("bad", Boolean(item.problem) || item.failed || item.state === "failed");
    if (!text) return put(this.ending);
    const again = user
      ? h("button", { type: "button", class: "link", on: { click: () => this.actions.reuse(item.content) } },
        "Write it again")
      : null;
    put(this.ending, icon("warn", 14), h("span", {}, text), again);
  }

  /** @param {Item} item */
  #offerActions(item) {
    if (item.role !== "assistant" || item.writing || item.seq === null) return put(this.acts);
    const copying = h("button", { type: "button" }, "Copy");
    copying.addEventListener("click", () => copy(this.item.content, copying));
    const { turn } = item;
    const saw = turn && this.actions.inspects
      ? h("button", { type: "button", on: { click: () => this.actions.receipt(turn) } }, "What the model saw")
      : null;
    put(this.acts, copying, saw);
  }
}
