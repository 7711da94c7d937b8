/** One message of the transcript as an element that can be brought up to date. */

import { copy } from "./clipboard.js";
import { h, put, say } from "./dom.js";
import { time } from "./format.js";
import { icon } from "./icons.js";
import { render } from "./markdown.js";
import { MessageMenu } from "./message-menu.js";
import { quoteLink } from "./reply.js";
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
 * @typedef {import("./items.js").Item} Item
 * @typedef {import("./items.js").Mark} Mark
 * @typedef {import("./message-menu.js").Wishes & {inspects: boolean, receipt: (turn: string) => void,
 *   reuse: (text: string) => void, toMessage: (seq: number) => void}} Actions
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
    /** @type {import("./state.js").Verdict|null} */
    this.verdict = null;
    /** @type {MessageMenu|null} */
    this.menu = null;
    this.labels = h("span", { class: "m-label", hidden: true });
    this.head = h("div", { class: "m-head" });
    this.quoted = h("div", { hidden: true });
    this.stateText = h("span", { class: "state" });
    this.clock = h("time", {});
    this.body = h("div", { class: item.role === "user" ? "body" : "body md", dir: "auto" });
    this.mark = h("p", { class: "mark", hidden: true });
    this.ending = h("p", { class: "ending", hidden: true });
    this.acts = h("div", { class: "acts" });
    put(this.head, h("h2", { class: "who" }, item.name, this.stateText, this.labels, this.clock));
    this.element = h(
      "article",
      { class: `m ${item.role}`, tabindex: "-1" },
      this.head, this.quoted, this.body, this.mark, this.ending, this.acts,
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
    this.#sayMarks(item);
    if (before === item || before.turn !== item.turn || before.writing !== item.writing) this.#offerActions(item);
  }

  /**
   * @param {boolean} out whether the model no longer sees it
   * @param {Mark} mark
   * @param {import("./state.js").Verdict|null} verdict
   */
  place(out, mark, verdict) {
    this.verdict = verdict;
    this.menu?.refresh();
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

  /** What is marked on it, what it replies to, and the menu once it is stored. */
  #sayMarks(item) {
    const said = [item.background && "written by a background task", item.pinned && "pinned", item.excluded && "left out"];
    const words = said.filter(Boolean).join(", ");
    const drawing = item.pinned ? "pin" : item.excluded ? "slash" : null;
    if (this.labels.textContent !== words) put(this.labels, drawing && icon(drawing, 12), words);
    this.labels.hidden = !words;
    this.quoted.hidden = !item.reply;
    if (item.reply && !this.quoted.firstChild) put(this.quoted, quoteLink(item.reply, this.actions.toMessage));
    if (this.menu || item.id === null || item.writing) return;
    this.menu = new MessageMenu(() => ({ item: this.item, verdict: this.verdict }), this.actions);
    this.head.append(this.menu.element);
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
