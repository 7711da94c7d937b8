/** Two versions of a message side by side, what differed between them, and the choice of one. */

import { h, pressable, setChildren } from "../elements/dom.js";
import { showError } from "../elements/toast.js";
import { getJson } from "../net/http.js";
import {
  capitalize,
  formatDollars,
  formatDuration,
  formatTime,
  joinParts,
  shorten,
} from "../state/format.js";
import { describeExchanges } from "../state/exchanges.js";
import { findVerdict } from "../state/state.js";
import { FormattedText } from "../text/formatted-text.js";
import { say, sayCount } from "../words/say.js";

/**
 * @import { Child } from "../elements/dom.js"
 * @import { Page } from "../types/page.js"
 * @import { State } from "../types/state.js"
 * @import { Decision, Message, Said, Version, VersionText } from "../types/wire.js"
 */

/** @typedef {VersionText & {version: Version, number: number, shown: boolean, receipt: Decision|null}} Side */

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
   * @param {Version[]} versions of one message, in order
   * @param {number} at the one that is shown
   * @param {number} other
   */
  async open(versions, at, other) {
    try {
      const both = [at, other]
        .sort((one, next) => one - next)
        .map((index) => this.#read(versions[index], index + 1, index === at));
      this.#show(await Promise.all(both));
    } catch (error) {
      showError(error);
    }
  }

  /**
   * @param {Version} version
   * @param {number} number
   * @param {boolean} shown
   * @returns {Promise<Side>}
   */
  async #read(version, number, shown) {
    /** @type {VersionText} */
    const { question, answer } = await getJson(`${this.page.urls.messages}/${version.id}/version`);
    const turn = answer?.turn ?? question?.turn;
    // A receipt isn't shown to everybody; the version itself says enough then.
    const receipt = turn
      ? await getJson(`${this.page.urls.turns}/${turn}/receipt`).catch(() => null)
      : null;
    return { version, number, shown, question, answer, receipt };
  }

  /** @param {Side[]} both */
  #show(both) {
    const [first, second] = both;
    const same = first.question?.id === second.question?.id;
    const told = differences(both, this.actions.state().messages);
    const columns = both.map((one) => this.#column(one, !same));
    setChildren(
      this.dialog,
      h(
        "h2",
        { id: "two-answers-title", tabindex: "-1" },
        same
          ? say("Two answers to the same question")
          : say("Two versions of a question, with their answers"),
      ),
      same && first.question && question(first.question),
      h(
        "div",
        { class: "two-answers-columns" },
        columns.map(({ element }) => element),
      ),
      told?.list,
      h(
        "form",
        { method: "dialog", class: "two-answers-foot" },
        h(
          "p",
          { class: "quiet" },
          told?.sentence,
          " ",
          say("Neither is lost: ‹ and › under the message step between them."),
        ),
        h("button", { class: "plain-button" }, say("Close")),
      ),
    );
    this.dialog.showModal();
    // A text is formatted once it is in the page.
    columns.forEach(({ text }, index) => text?.show(both[index].answer?.text ?? ""));
    this.dialog.querySelector("h2")?.focus();
  }

  /**
   * @param {Side} side
   * @param {boolean} asks whether it has a question of its own
   */
  #column(side, asks) {
    const { version, number, shown } = side;
    const text = side.answer?.text ? new FormattedText() : null;
    const title = shown
      ? say("Version {number} · shown now", { number })
      : say("Version {number}", { number });
    const keep = pressable(
      {
        class: shown ? "primary" : "plain-button",
        "aria-label": say("Continue with this one: version {number}", { number }),
      },
      () => this.#keep(side),
      say("Continue with this one"),
    );
    const model = side.receipt?.provider?.label || side.receipt?.provider?.model || version.model;
    const about = joinParts([
      model,
      formatTime(version.at),
      version.edited && say("edited by you"),
    ]);
    const element = h(
      "section",
      { class: "two-answers-one", "aria-label": title },
      h("h3", {}, title, h("small", {}, about)),
      asks && side.question && question(side.question),
      h(
        "div",
        {
          class: "two-answers-text",
          tabindex: "0",
          role: "group",
          "aria-label": say("The answer"),
        },
        text ? text.element : h("p", { class: "quiet" }, say("There is no answer.")),
      ),
      h("dl", { class: "facts small" }, facts(side)),
      keep,
    );
    return { element, text };
  }

  /** @param {Side} side */
  #keep({ version, shown }) {
    this.dialog.close();
    if (!shown) this.actions.keep(version.id);
  }
}

/** @param {Said} said */
function question({ text, files }) {
  const words = [shorten(text, 240), ...files.map((name) => say("File: {name}", { name }))];
  return h("blockquote", { class: "why-quote" }, joinParts(words));
}

/**
 * @param {Side} side
 * @returns {Child[]}
 */
function facts({ version, receipt }) {
  const reported = receipt?.reported;
  const first = reported?.first_token_ms;
  const tokens = reported?.completion ?? version.tokens;
  const cost = reported?.cost ?? version.cost;
  /** @type {[string, string|null][]} */
  const rows = [
    [say("Memory"), receipt && capitalize(receipt.in_words)],
    [say("Sent"), (receipt && describeExchanges(receipt)) || null],
    [
      say("Request"),
      receipt &&
        sayCount("{count} token", "{count} tokens", reported?.prompt ?? receipt.prompt_tokens),
    ],
    [
      say("Answer"),
      typeof tokens === "number" ? sayCount("{count} token", "{count} tokens", tokens) : null,
    ],
    [say("Cost"), typeof cost === "number" ? formatDollars(cost) : null],
    [
      say("First word"),
      typeof first === "number" ? say("after {time}", { time: formatDuration(first) }) : null,
    ],
  ];
  return rows
    .filter(([, value]) => value !== null)
    .flatMap(([name, value]) => [h("dt", {}, name), h("dd", {}, value)]);
}

/**
 * Which stored messages only one of the two was sent, as far as they are loaded.
 * @param {Side[]} both
 * @param {Message[]} messages
 */
function differences([first, second], messages) {
  if (!first.receipt || !second.receipt) return null;
  /** @param {Side} side @param {Side} other */
  const only = (side, other) => ({
    title: say("Sent only for version {number}", { number: side.number }),
    messages: messages.filter(
      ({ seq }) =>
        findVerdict(side.receipt, seq)?.sent && findVerdict(other.receipt, seq)?.sent === false,
    ),
  });
  const lists = [only(first, second), only(second, first)].filter((one) => one.messages.length);
  if (!lists.length) return { sentence: sameMessages(first, second), list: null };
  const list = h(
    "div",
    { class: "two-answers-differences" },
    lists.map((one) =>
      h(
        "details",
        {},
        h(
          "summary",
          {},
          `${one.title}: `,
          sayCount("{count} message", "{count} messages", one.messages.length),
        ),
        h(
          "ul",
          {},
          one.messages
            .slice(-QUOTED)
            .map(({ seq, content }) => h("li", {}, `${seq} `, shorten(content ?? "", 90))),
        ),
      ),
    ),
  );
  return { sentence: say("They were sent different messages."), list };
}

/**
 * What differs where both requests have the same earlier messages.
 * @param {Side} first
 * @param {Side} second
 */
function sameMessages(first, second) {
  if (first.question?.text !== second.question?.text)
    return say("Both were sent the same earlier messages: only your question differs.");
  if (first.receipt?.provider?.model === second.receipt?.provider?.model)
    return say("Both were sent the same messages.");
  return say(
    "Both were sent the same messages. Each model counts tokens its own way, and some get longer instructions.",
  );
}
