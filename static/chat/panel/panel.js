/** The debug panel: what the next message would be sent with, or what the last answer was sent with. */

import { copy } from "../elements/clipboard.js";
import { byId, h, setChildren } from "../elements/dom.js";
import { icon } from "../elements/icons.js";
import { getJson } from "../net/http.js";
import { formatDuration } from "../state/format.js";
import { tokensTooMany } from "../state/state.js";
import { say } from "../words/say.js";
import { CacheSection } from "./cache.js";
import { ComparisonSection } from "./comparison.js";
import { CostsSection } from "./costs.js";
import { instructionsSection } from "./instructions.js";
import { requestSection } from "./request.js";
import { roundsSection } from "./rounds.js";
import { factsSection, notesSection, partsSection, reportedSection } from "./sections.js";
import { selectionSection } from "./selection.js";
import { settingsSection } from "./settings.js";
import { sinceSection } from "./since.js";
import { verdictsSection } from "./verdicts.js";

/**
 * @import { Child } from "../elements/dom.js"
 * @import { DraftFields } from "../net/session.js"
 * @import { Page } from "../types/page.js"
 * @import { State } from "../types/state.js"
 * @import { ChoiceChanges, Decision, Receipt } from "../types/wire.js"
 */

/**
 * A section of the panel: it is drawn again only where its data changed.
 * @typedef {{data: unknown, draw: () => Child[]}} Section
 */

const SECTIONS = [
  "notes",
  "since",
  "costs",
  "facts",
  "settings",
  "parts",
  "instructions",
  "chosen",
  "verdicts",
  "compare",
  "reported",
  "rounds",
  "cache",
  "request",
];

export class Panel {
  /**
   * @param {Page} page
   * @param {{close: () => void, toMessage: (seq: number) => void,
   *   endInstruction: (id: string) => void,
   *   draft: () => DraftFields,
   *   apply: (changes: ChoiceChanges) => void,
   *   keepWhole: (seqs: number[], on: boolean) => void,
   *   bringBack: (turns: number[]|null, conversation: string) => Promise<void>}} actions
   */
  constructor(page, actions) {
    this.page = page;
    this.actions = actions;
    this.element = byId("panel");
    /** @type {"next"|"answer"} */
    this.view = "next";
    /** @type {string|null} the turn whose receipt was asked for, where it isn't the last one */
    this.asked = null;
    /** @type {{turn: string, stored: Receipt|null}|null} what was loaded last, or is being loaded */
    this.wanted = null;
    /** @type {{turn: string, receipt: Decision}|null} */
    this.loaded = null;
    this.failure = "";
    /** @type {State|null} */
    this.state = null;
    /** @type {Map<string, string>} what each section was drawn from */
    this.drawn = new Map();
    this.small = h("small", {});
    this.next = this.#tab("next", say("Next message"));
    this.answer = this.#tab("answer", say("Last answer"));
    this.problem = h("p", { class: "insp-note", hidden: true });
    this.sections = SECTIONS.map((name) =>
      h("section", { class: "sec", "data-section": name, hidden: true }),
    );
    this.comparison = new ComparisonSection(page, {
      draft: actions.draft,
      apply: actions.apply,
      redraw: () => this.#draw(),
    });
    this.costs = new CostsSection(page.urls.conversations ?? "", {
      showTurn: (turn) => this.showTurn(turn),
      redraw: () => this.#draw(),
    });
    this.cache = new CacheSection(page, {
      toMessage: actions.toMessage,
      bringBack: actions.bringBack,
      redraw: () => this.#draw(),
    });
    this.copying = h(
      "button",
      { type: "button", class: "link", on: { click: () => this.#copy() } },
      say("Copy as JSON"),
    );
    setChildren(
      this.element,
      h(
        "header",
        {},
        h("h2", {}, say("Debug panel")),
        this.small,
        h(
          "button",
          {
            type: "button",
            class: "icon",
            "aria-label": say("Close the debug panel"),
            title: say("Close the debug panel (Esc)"),
            on: { click: () => actions.close() },
          },
          icon("close"),
        ),
      ),
      h(
        "div",
        { class: "switch", role: "group", "aria-label": say("Which request") },
        this.next,
        this.answer,
      ),
      this.problem,
      this.sections,
      h("p", { class: "insp-foot" }, this.copying),
    );
  }

  /** @param {State} state */
  update(state) {
    if (this.state && this.state.conversationId !== state.conversationId) {
      this.asked = null;
      this.view = "next";
      this.failure = "";
    }
    this.state = state;
    if (!this.element.hidden) this.#draw();
  }

  /**
   * Shows the receipt of a turn.
   * @param {string} turn
   */
  showTurn(turn) {
    this.view = "answer";
    this.failure = "";
    this.wanted = null;
    this.asked = turn;
    this.#draw();
    this.element.focus();
  }

  /**
   * @param {"next"|"answer"} view
   * @param {string} words
   */
  #tab(view, words) {
    return h(
      "button",
      {
        type: "button",
        "aria-pressed": "false",
        on: {
          click: () => {
            this.view = view;
            this.asked = null;
            this.wanted = null;
            this.failure = "";
            this.#draw();
          },
        },
      },
      words,
    );
  }

  #draw() {
    const { state } = this;
    if (!state) return;
    // A link may ask for a turn before the last receipt is there: only now it proves the same.
    if (this.asked === state.receipt?.turn) this.asked = null;
    const decision = this.#shown(state);
    this.next.setAttribute("aria-pressed", String(this.view === "next"));
    this.answer.setAttribute("aria-pressed", String(this.view === "answer"));
    this.answer.disabled = !state.receipt && this.view === "next";
    this.answer.textContent = this.asked
      ? say("Answer {number}", { number: decision?.number ?? "" }).trim()
      : say("Last answer");
    this.small.textContent = this.view === "answer" ? describeReceipt(decision) : "";
    this.#sayProblem(state, decision);
    const next = this.view === "next";
    const before = next ? Boolean(state.receipt) : (decision?.number ?? 1) > 1;
    this.copying.hidden = !decision;
    this.#section("notes", decision && notesSection(decision));
    this.#section("since", decision && !next && sinceSection(decision));
    this.#section("costs", this.costs.section(state, next ? "" : (decision?.turn ?? "")));
    this.#section("facts", decision && factsSection(decision));
    this.#section("settings", decision && settingsSection(decision, this.page.policies.settings));
    this.#section(
      "parts",
      decision && partsSection(decision, { next, before, here: isHere(next, state, decision) }),
    );
    const { toMessage, endInstruction: end } = this.actions;
    this.#section(
      "instructions",
      decision && instructionsSection(decision, state.messages, { next, toMessage, end }),
    );
    this.#section(
      "chosen",
      decision && selectionSection(decision, this.page.policies.report_titles),
    );
    this.#section("compare", this.comparison.section(state, decision, next));
    this.#section("reported", decision && !next && reportedSection(decision));
    this.#section("rounds", decision && !next && roundsSection(decision));
    this.#section(
      "verdicts",
      decision && verdictsSection(decision, state.messages, next, this.actions),
    );
    this.#section("cache", this.cache.section(state));
    const turn = !next && this.page.show_request ? decision?.turn : null;
    this.#section("request", turn ? requestSection(this.page, turn) : null);
  }

  /**
   * @param {State} state
   * @returns {Decision|null}
   */
  #shown(state) {
    if (this.view === "next") return state.problem?.code === "too_long" ? null : state.decision;
    return this.#receipt(state);
  }

  /**
   * The receipt in the view, with its sentences; null until it is loaded. One that changed since stays until then.
   * @param {State} state
   */
  #receipt(state) {
    const turn = this.asked ?? state.receipt?.turn;
    if (!turn) return null;
    const stored = this.asked ? null : state.receipt;
    if (this.wanted?.turn !== turn || this.wanted.stored !== stored)
      void this.#load({ turn, stored });
    return this.loaded?.turn === turn ? this.loaded.receipt : null;
  }

  /** @param {{turn: string, stored: Receipt|null}} wanted */
  async #load(wanted) {
    this.wanted = wanted;
    const { turn } = wanted;
    let failure = "";
    try {
      const receipt = await getJson(`${this.page.urls.turns}/${turn}/receipt`);
      if (wanted === this.wanted) this.loaded = { turn, receipt };
    } catch (error) {
      failure = /** @type {Error} */ (error).message;
    }
    // A newer one is on its way otherwise: its answer counts.
    if (wanted !== this.wanted) return;
    this.failure = failure;
    this.#draw();
  }

  /** The record itself, as `tests/commands/replay_receipt.py` reads it. */
  #copy() {
    if (!this.state) return;
    const { offers, since, ...record } = this.#shown(this.state) ?? { offers: null };
    void copy(`${JSON.stringify(record, null, 2)}\n`, this.copying);
  }

  /**
   * @param {State} state
   * @param {Decision|null} decision
   */
  #sayProblem(state, decision) {
    const words =
      this.failure ||
      // Of a message that is too long the sections below say all there is to say.
      (this.view === "next" && !tokensTooMany(decision) ? (state.problem?.message ?? "") : "") ||
      (decision
        ? ""
        : this.view === "next"
          ? say("Connecting…")
          : this.asked || state.receipt
            ? say("Loading…")
            : say("No answer yet."));
    this.problem.hidden = !words;
    this.problem.textContent = words;
  }

  /**
   * Draws a section again only where its data changed. Open parts and an open explanation stay open, and the focus
   * stays in place, while somebody types or an answer ends.
   * @param {string} name
   * @param {Section|null|false|undefined} made
   */
  #section(name, made) {
    const section = /** @type {HTMLElement} */ (
      this.sections.find((one) => one.dataset.section === name)
    );
    section.hidden = !made;
    const data = made ? JSON.stringify(made.data) : "";
    if (this.drawn.get(name) === data) return;
    this.drawn.set(name, data);
    const open = new Set(
      [...section.querySelectorAll("details[open]")].map(
        (one) => /** @type {HTMLElement} */ (one).dataset.key,
      ),
    );
    const active = /** @type {HTMLElement|null} */ (
      section.contains(document.activeElement) ? document.activeElement : null
    );
    const held = /** @type {HTMLElement|null|undefined} */ (active?.closest("[data-key]"))?.dataset
      .key;
    const explained = /** @type {HTMLElement|null} */ (
      section.querySelector(".term[aria-expanded=true]")
    )?.dataset.key;
    setChildren(section, made ? made.draw() : []);
    for (const part of /** @type {NodeListOf<HTMLElement>} */ (
      section.querySelectorAll("[data-key]")
    )) {
      const details = part instanceof HTMLDetailsElement ? part : null;
      if (details && open.has(details.dataset.key)) details.open = true;
      if (held && part.dataset.key === held) (details?.querySelector("summary") ?? part).focus();
    }
    if (explained)
      /** @type {HTMLElement|null} */ (
        section.querySelector(`.term[data-key="${explained}"]`)
      )?.click();
  }
}

/**
 * Whether the model of a request runs on this machine.
 * @param {boolean} next
 * @param {State} state
 * @param {Decision} decision
 */
function isHere(next, { conversation, agent }, decision) {
  if (!next) return decision.provider?.kind === "embedded";
  return conversation?.model
    ? conversation.model.startsWith("embedded:")
    : agent?.provider?.kind === "embedded";
}

/**
 * "turn 7 · 1.2 s to first token"
 * @param {Decision|null} receipt
 */
function describeReceipt(receipt) {
  if (!receipt) return "";
  const first = receipt.reported?.first_token_ms;
  return [
    receipt.number ? say("turn {number}", { number: receipt.number }) : "",
    typeof first === "number" ? say("{time} to first token", { time: formatDuration(first) }) : "",
  ]
    .filter(Boolean)
    .join(" · ");
}
