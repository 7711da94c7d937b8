/** The same turn under other policies: computed by the server while the panel is open, without a model. */

import { h, pressable } from "../elements/dom.js";
import { icon } from "../elements/icons.js";
import { queryString } from "../net/address.js";
import { sendChange } from "../net/http.js";
import { formatDollars, formatNumber } from "../state/format.js";
import { none, table, unseen } from "./table.js";
import { say, sayCount } from "../words/say.js";
import { term } from "./terms.js";

/**
 * @import { Section } from "./panel.js"
 * @import { DraftFields } from "../net/session.js"
 * @import { ComparisonAnswer, ComparisonRow, Page } from "../types/page.js"
 * @import { State } from "../types/state.js"
 * @import { ChoiceChanges, Decision } from "../types/wire.js"
 */

// In ms: while somebody types, the comparison isn't loaded at every letter.
const PAUSE = 600;
// A comparison reads the whole conversation: of a longer one only on request.
const LONG = 2_000;

/** @typedef {{decision: Decision, query: string}} About */

export class ComparisonSection {
  /**
   * @param {Page} page
   * @param {{draft: () => DraftFields,
   *   apply: (changes: ChoiceChanges) => void, redraw: () => void}} actions
   */
  constructor(page, actions) {
    this.page = page;
    this.actions = actions;
    this.timer = 0;
    /** @type {About|null} what the answer that is shown or awaited is about */
    this.about = null;
    this.busy = false;
    this.wanted = "";
    this.failure = "";
    /** @type {(ComparisonAnswer & {place: string}) | null} `place`: the conversation or turn */
    this.found = null;
  }

  /**
   * @param {State} state
   * @param {Decision|null} decision
   * @param {boolean} next
   * @returns {Section|null}
   */
  section(state, decision, next) {
    // Before the first message every policy sends the same. Of a running turn too little is stored.
    if (
      !decision ||
      (next ? !state.conversation : !decision.turn || decision.turn === state.turn?.id)
    )
      return null;
    const place = next ? state.conversationId : /** @type {string} */ (decision.turn);
    if (this.found?.place !== place) this.found = null;
    const waits = decision.facts.stored > LONG && this.wanted !== place;
    if (!waits) this.#follow(decision, place, next);
    return {
      data: [place, next, waits, this.busy, this.failure, this.found],
      draw: () => [
        h("h3", {}, say("Compare policies"), h("small", {}, say("preview only"))),
        waits &&
          pressable(
            { class: "plain-button" },
            () => this.#ask(place),
            say("Compare all {count} messages", { count: formatNumber(decision.facts.stored) }),
          ),
        this.failure && h("p", { class: "quiet" }, this.failure),
        !waits &&
          !this.found &&
          !this.failure &&
          h("p", { class: "quiet" }, say("Working it out…")),
        this.found && this.#table(this.found.rows),
        this.found && noteList(this.found.rows),
        this.found &&
          h(
            "p",
            { class: "quiet" },
            `${sayCount("{count} message in the conversation.", "{count} messages in the conversation.", this.found.stored)} ${this.found.note}`,
          ),
      ],
    };
  }

  /** @param {string} place */
  #ask(place) {
    this.wanted = place;
    this.actions.redraw();
  }

  /**
   * Loads again where the decision or the address changed.
   * @param {Decision} decision
   * @param {string} place
   * @param {boolean} next
   */
  #follow(decision, place, next) {
    const about = { decision, query: queryString() };
    if (this.about?.decision === decision && this.about.query === about.query) return;
    this.about = about;
    clearTimeout(this.timer);
    this.timer = window.setTimeout(() => this.#load(place, next, about), this.found ? PAUSE : 0);
  }

  /**
   * @param {string} place
   * @param {boolean} next
   * @param {About} about
   */
  async #load(place, next, about) {
    this.busy = true;
    const path = `${next ? this.page.urls.conversations : this.page.urls.turns}/${place}/compare`;
    const body = { query: queryString(), ...(next && this.actions.draft()) };
    let found = null;
    let failure = "";
    try {
      found = { ...(await sendChange("POST", path, body)), place };
    } catch (error) {
      failure = /** @type {Error} */ (error).message;
    }
    // A newer request is on its way: its answer counts.
    if (about !== this.about) return;
    Object.assign(this, { busy: false, found, failure });
    this.actions.redraw();
  }

  /** @param {ComparisonRow[]} rows */
  #table(rows) {
    const groups = rows.some((one) => one.outcome !== null && one.outcome.groups > 0);
    const priced = rows.some((one) => one.outcome && one.outcome.cost !== null);
    const heads = [
      term("policy", say("policy")),
      term("compared", say("messages")),
      term("tokens", say("tokens")),
      term("cacheable", say("cacheable")),
      groups && term("tools_left_out", say("tools left out")),
      priced && term("cost", say("cost")),
    ].filter(Boolean);
    return table(
      "compare",
      say("The same turn under other policies"),
      heads,
      rows.map((one) =>
        h(
          "tr",
          { class: one.in_force ? "now" : "" },
          h("th", { scope: "row" }, this.#name(one)),
          cells(one, { groups, priced }),
        ),
      ),
      { "aria-busy": String(this.busy) },
    );
  }

  /** @param {ComparisonRow} row */
  #name({ key, words, in_force: now, allowed, why, changes }) {
    const mark = now && [" ", icon("check", 12), unseen(` ${say("in force")}`)];
    if (allowed) {
      return pressable(
        {
          class: "link",
          "data-key": key,
          "aria-pressed": String(now),
          title: say("Use this from the next message on"),
        },
        () => this.actions.apply(changes),
        words,
        mark,
      );
    }
    return [
      words,
      ...(mark || []),
      " ",
      h(
        "span",
        { class: "barred", title: why },
        icon("lock", 12),
        unseen(` ${say("can't be chosen here: {why}", { why })}`),
      ),
    ];
  }
}

/**
 * Notes on policies whose settings can't be followed entirely.
 * @param {ComparisonRow[]} rows
 */
function noteList(rows) {
  const noted = rows.filter((one) => one.outcome && one.note);
  return (
    noted.length > 0 &&
    h(
      "ul",
      { class: "reasons" },
      noted.map((one) => h("li", {}, h("b", {}, one.words), `: ${one.note}`)),
    )
  );
}

/**
 * @param {ComparisonRow} row
 * @param {{groups: boolean, priced: boolean}} columns
 */
function cells({ outcome, note }, { groups, priced }) {
  if (!outcome)
    return h("td", { class: "quiet", colspan: String(3 + Number(groups) + Number(priced)) }, note);
  const { messages, tokens, share, groups_left_out: left, groups_cut: cut, cost } = outcome;
  return [
    h("td", {}, formatNumber(messages)),
    h("td", {}, formatNumber(tokens)),
    h("td", {}, share === null ? none(say("no request before")) : say("{share}%", { share })),
    groups &&
      h(
        "td",
        {},
        cut
          ? say("{left}, {cut} cut", { left: formatNumber(left), cut: formatNumber(cut) })
          : formatNumber(left),
      ),
    priced && h("td", {}, cost === null ? none(say("no price known")) : formatDollars(cost)),
  ];
}
