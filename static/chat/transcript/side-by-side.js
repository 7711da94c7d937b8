/** Two answers to the same question side by side, what differed between them, and the choice of one. */

import { h, setChildren } from "../elements/dom.js";
import { getJson } from "../net/http.js";
import { capitalize, formatDollars, formatDuration, formatNumber, shorten } from "../state/format.js";
import { findVerdict } from "../state/state.js";
import { FormattedText } from "../text/formatted-text.js";
import { say, sayCount } from "../words/say.js";

/**
 * @import { Child } from "../elements/dom.js"
 * @import { Page } from "../types/page.js"
 * @import { State } from "../types/state.js"
 * @import { Answer } from "./second-answer.js"
 * @import { Decision, Message } from "../types/wire.js"
 */

/** @typedef {Answer & {receipt: Decision|null}} Received */

// As many of the messages that differed are quoted.
const QUOTED = 5;

export class SideBySide {
  /**
   * @param {Page} page
   * @param {{state: () => State, keep: (id: string) => void}} actions `keep` puts a version onto the path
   */
  constructor(page, actions) {
    this.page = page;
    this.actions = actions;
    this.dialog = h("dialog", { class: "box two-answers", "aria-labelledby": "two-answers-title" });
    document.body.append(this.dialog);
  }

  /**
   * @param {Answer} first the former answer
   * @param {Answer} second the one on the path
   */
  async open(first, second) {
    const both = await Promise.all([first, second].map(async (one) => ({ ...one, receipt: await this.#receipt(one.turn) })));
    const { messages } = this.actions.state();
    const asked = messages.findLast(({ role, source }) => role === "user" && source === "web");
    const columns = both.map((one, index) => this.#column(one, index));
    setChildren(
      this.dialog,
      h("h2", { id: "two-answers-title", tabindex: "-1" }, say("Two answers to the same question")),
      asked && h("blockquote", { class: "why-quote" }, shorten(asked.content ?? "", 160)),
      h("div", { class: "two-answers-columns" }, columns.map(({ element }) => element)),
      differences(both, messages),
      h("p", { class: "quiet" }, say("The other one stays as a version of this message.")),
    );
    this.dialog.showModal();
    // A text is formatted once it is in the page.
    columns.forEach(({ text }, index) => text.show(both[index].text));
    this.dialog.querySelector("h2")?.focus();
  }

  /**
   * The record of a turn; null where it isn't shown to this person.
   * @param {string} turn
   * @returns {Promise<Decision|null>}
   */
  #receipt(turn) {
    return getJson(`${this.page.urls.turns}/${turn}/receipt`).catch(() => null);
  }

  /**
   * @param {Received} answer
   * @param {number} index
   */
  #column(answer, index) {
    const text = new FormattedText();
    const title = index === 0 ? say("Before") : say("New");
    const keep = h("button", {
      type: "button", class: index === 0 ? "plain-button" : "primary",
      "aria-label": index === 0 ? say("Keep the answer before") : say("Keep the new answer"),
      on: { click: () => this.#keep(answer, index) },
    }, say("Keep this one"));
    const element = h("section", { class: "two-answers-one", "aria-label": title },
      h("h3", {}, title, answer.receipt && h("small", {}, answer.receipt.provider?.label || answer.receipt.provider?.model || "")),
      answer.receipt && h("dl", { class: "facts small" }, facts(answer.receipt)),
      h("div", { class: "two-answers-text", tabindex: "0", role: "group", "aria-label": say("The answer") }, text.element),
      keep);
    return { element, text };
  }

  /**
   * @param {Answer} answer
   * @param {number} index
   */
  #keep(answer, index) {
    this.dialog.close();
    if (index === 0) this.actions.keep(answer.id);
  }
}

/**
 * @param {Decision} receipt
 * @returns {Child[]}
 */
function facts(receipt) {
  const { facts: { sent, stored }, in_words: rule, prompt_tokens: tokens, reported } = receipt;
  const first = reported?.first_token_ms;
  /** @type {[string, string|null][]} */
  const rows = [
    [say("Memory"), capitalize(rule)],
    [say("Messages"), say("{sent} of {stored} sent", { sent: formatNumber(sent), stored: formatNumber(stored) })],
    [say("Request"), sayCount("{count} token", "{count} tokens", reported?.prompt ?? tokens)],
    [say("Answer"), typeof reported?.completion === "number" ? sayCount("{count} token", "{count} tokens", reported.completion) : null],
    [say("Cost"), typeof reported?.cost === "number" ? formatDollars(reported.cost) : null],
    [say("First word"), typeof first === "number" ? say("after {time}", { time: formatDuration(first) }) : null],
  ];
  return rows.filter(([, value]) => value !== null).flatMap(([name, value]) => [h("dt", {}, name), h("dd", {}, value)]);
}

/**
 * Which stored messages only one of the two was sent, as far as they are loaded.
 * @param {Received[]} both
 * @param {Message[]} messages
 */
function differences([{ receipt: first }, { receipt: second }], messages) {
  if (!first || !second) return null;
  /** @param {Decision} receipt @param {Decision} other */
  const only = (receipt, other) => messages.filter(({ seq }) => findVerdict(receipt, seq)?.sent && findVerdict(other, seq)?.sent === false);
  const lists = [
    { title: say("Sent only before"), messages: only(first, second) },
    { title: say("Sent only for the new answer"), messages: only(second, first) },
  ].filter((one) => one.messages.length);
  if (!lists.length) return h("p", { class: "quiet" }, say("Both were sent the same messages."));
  return h("div", { class: "two-answers-differences" }, lists.map((one) => h("details", {},
    h("summary", {}, `${one.title}: `, sayCount("{count} message", "{count} messages", one.messages.length)),
    h("ul", {}, one.messages.slice(-QUOTED).map(({ seq, content }) => h("li", {}, `${seq} `, shorten(content ?? "", 90)))))));
}
