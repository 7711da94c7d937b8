/** A message, or an answer with the tool calls that led to it, as an element that can be updated. */

import { ActionRow } from "../actions/action-row.js";
import { COLOURS } from "../elements/agent-mark.js";
import { h, setChildren, setText } from "../elements/dom.js";
import { icon } from "../elements/icons.js";
import { formatNumber, formatTime, joinParts } from "../state/format.js";
import { contextStatus } from "../state/items.js";
import { initialOf } from "../state/speakers.js";
import { say } from "../words/say.js";
import { attachmentList } from "./attachments.js";
import { describeEnding, Ending } from "./ending.js";
import { InstructionLine } from "./instruction-line.js";
import { MarkLine } from "./mark-line.js";
import { quoteLink } from "./quote.js";
import { AnswerStep } from "./step.js";

/**
 * @import { Doing } from "../actions/table.js"
 * @import { ViewMemory } from "./reasoning.js"
 * @import { ItemGroup, Item } from "../state/items.js"
 * @import { Model } from "../types/page.js"
 * @import { Decision } from "../types/wire.js"
 */

/**
 * @typedef {Doing & {memory: ViewMemory, reuse: (item: Item) => void, include: (id: string) => void,
 *   otherModel: () => Promise<Model|null>, continueAnswer: (id: string) => void,
 *   toMessage: (seq: number) => void}} Actions
 */

export class MessageRow {
  /**
   * @param {ItemGroup} group
   * @param {Actions} actions
   */
  constructor(group, actions) {
    this.actions = actions;
    this.group = group;
    const [first] = group.items;
    /** @type {Map<string, AnswerStep>} the messages of an answer */
    this.steps = new Map();
    /** @type {Decision|null} */
    this.decision = null;
    this.labels = h("span", { class: "m-label cut", "aria-hidden": "true", hidden: true });
    // The same for who goes from heading to heading.
    this.heard = h("span", { class: "hidden" });
    this.face = h("span", { class: "face", "aria-hidden": "true", hidden: true });
    this.head = h("div", { class: "m-head" });
    this.quoted = h("div", { hidden: true });
    this.stateText = h("span", { class: "state" });
    this.clock = h("time", {});
    this.model = h("span", { class: "m-model" });
    this.body = h("div", {
      class: first.role === "user" ? "body as-written" : "body",
      dir: "auto",
    });
    this.mark = new MarkLine({
      unloaded: {
        label: say("Bring back"),
        act: () => actions.bringBack([this.group.items[0].start]),
      },
      unanswered: {
        label: say("Send it along"),
        act: () => actions.include(/** @type {string} */ (this.newest.id)),
      },
      gave: { label: say("Send it whole"), act: ({ gone = [] }) => actions.keepWhole(gone, true) },
    });
    this.instructions = new InstructionLine(actions.mark);
    this.note = h("p", { class: "file-note", hidden: true });
    this.warning = h("p", { class: "ending", hidden: true });
    this.ending = new Ending({
      reuse: () => actions.reuse(this.newest),
      again: (model) => actions.retry(/** @type {string} */ (this.newest.id), model),
      other: actions.otherModel,
      continue: () => actions.continueAnswer(/** @type {string} */ (this.newest.id)),
    });
    this.acts = new ActionRow(actions);
    setChildren(this.head, h("h2", { class: "who" }, first.name, this.model, this.heard));
    this.element = h(
      "article",
      { class: `m ${first.role}`, tabindex: "-1" },
      this.face,
      this.head,
      this.quoted,
      this.body,
      this.note,
      this.mark.element,
      this.instructions.element,
      this.warning,
      this.ending.element,
      h("div", { class: "m-foot" }, this.stateText, this.labels, this.acts.element, this.clock),
    );
    this.update(group);
  }

  /** The newest message of an answer. */
  get newest() {
    return /** @type {Item} */ (this.group.items.at(-1));
  }

  /** @param {ItemGroup} group */
  update(group) {
    this.group = group;
    const { newest } = this;
    const [first] = group.items;
    if (first.seq === null) delete this.element.dataset.seq;
    else this.element.dataset.seq = String(first.seq);
    this.head.classList.toggle("hidden", !group.named);
    this.face.hidden = !group.begins;
    const drawn = COLOURS.includes(first.face);
    this.face.className = drawn ? `face mark-${first.face}` : "face";
    const face = drawn ? initialOf(first.name) : first.face;
    setText(this.face, group.begins ? face : "");
    this.element.classList.toggle("waiting", newest.waiting);
    this.element.classList.toggle("writing", newest.writing);
    this.element.setAttribute("aria-busy", String(newest.writing));
    setText(this.stateText, describeState(newest));
    setText(this.model, newest.model);
    this.clock.dateTime = first.created;
    setText(this.clock, first.created && formatTime(first.created));
    if (first.role === "user") this.#drawUser(first);
    else this.#drawSteps(group.items);
    this.#sayEnding(group);
    this.#sayMarks(first);
    this.#offer();
  }

  /**
   * Shows which of its messages the model sees.
   * @param {Decision|null} decision
   */
  updateStatus(decision) {
    const all = this.group.items.map((item) => contextStatus(decision, item));
    const [first] = all;
    this.decision = decision;
    this.#offer();
    this.element.classList.toggle(
      "out",
      all.every(({ out }) => out),
    );
    if (this.steps.size)
      this.group.items.forEach(({ key }, index) => this.steps.get(key)?.updateStatus(all[index]));
    else this.mark.update(first.mark);
  }

  /** @param {Item} item */
  #drawUser(item) {
    const { content, attachments, note } = item;
    this.instructions.update(item);
    if (!this.text) {
      this.text = document.createTextNode("");
      setChildren(this.body, this.text, attachments.length > 0 && attachmentList(attachments));
    }
    if (this.text.data !== content) this.text.data = content;
    this.body.classList.toggle("only-files", !content);
    this.note.hidden = !note;
    setText(this.note, note);
  }

  /** @param {Item[]} items */
  #drawSteps(items) {
    const wanted = new Set(items.map(({ key }) => key));
    for (const item of items) {
      const step = this.steps.get(item.key) ?? this.#written(item, wanted);
      if (step) step.update(item);
      this.steps.set(item.key, step ?? new AnswerStep(item, this.actions));
    }
    for (const [key, step] of this.steps) {
      if (wanted.has(key)) continue;
      step.element.remove();
      this.steps.delete(key);
    }
    const elements = items.map(
      ({ key }) => /** @type {AnswerStep} */ (this.steps.get(key)).element,
    );
    if (elements.some((element, index) => this.body.children[index] !== element))
      setChildren(this.body, elements);
  }

  /**
   * The step that a message was written in, kept under the stored message's key.
   * @param {Item} item
   * @param {Set<string>} wanted
   */
  #written({ id }, wanted) {
    const found =
      id && [...this.steps].find(([key, step]) => step.item.writing && !wanted.has(key));
    if (!found) return undefined;
    this.steps.delete(found[0]);
    return found[1];
  }

  /** @param {ItemGroup} group */
  #sayEnding(group) {
    const { role, problem, state } = this.newest;
    // A problem of an answer is no failure: for example, the server cut its prompt.
    const words = role === "assistant" && state === "complete" ? (problem?.message ?? "") : "";
    this.warning.hidden = !words;
    if (this.warning.textContent !== words)
      setChildren(this.warning, words && icon("warn", 14), words && h("span", {}, words));
    const ended = describeEnding(group);
    this.ending.update(ended);
    this.element.classList.toggle("boxed", Boolean(ended) && !this.ending.folded);
  }

  /**
   * Its marks, and the message it replies to.
   * @param {Item} item
   */
  #sayMarks(item) {
    const { items } = this.group;
    const pinned = items.some((one) => one.pinned);
    const excluded = items.some((one) => one.excluded);
    const bookmarked = items.some((one) => one.bookmarked);
    const edited = items.some((one) => one.edited);
    const labels = [
      item.background && say("written by a background task"),
      pinned && say("pinned"),
      excluded && say("left out"),
      bookmarked && say("bookmarked"),
      edited && (item.role === "user" ? say("edited") : say("edited by you")),
    ];
    const words = joinParts(labels, ", ");
    const drawing = pinned ? "pin" : excluded ? "slash" : bookmarked ? "bookmark" : null;
    if (this.labels.textContent !== words)
      setChildren(this.labels, drawing && icon(drawing, 12), words);
    this.labels.hidden = !words;
    setText(this.heard, words && ` ${words}`);
    this.quoted.hidden = !item.reply;
    if (item.reply && !this.quoted.firstChild)
      setChildren(this.quoted, quoteLink(item.reply, this.actions.toMessage));
  }

  #offer() {
    const { group, newest, decision } = this;
    // Where the answer broke off, its box at the end of the chat offers it.
    const again =
      newest.role === "assistant" &&
      !newest.greets &&
      !newest.background &&
      !describeEnding(group)?.choices.length;
    this.acts.update(group, { again, verdict: (item) => contextStatus(decision, item).verdict });
  }
}

/** @param {Item} item */
function describeState({ hint, reading, writing, waiting }) {
  if (hint) return say("waiting…");
  if (reading)
    return say("reading {read} of {total} tokens…", {
      read: formatNumber(reading.read),
      total: formatNumber(reading.total),
    });
  return writing ? say("writing…") : waiting ? say("sending…") : "";
}
