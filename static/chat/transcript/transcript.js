/** The messages, the horizon among them, and the scrolling. */

import { byId, h, pressable, reducedMotion, setChildren } from "../elements/dom.js";
import { keepFocus } from "../elements/focus-place.js";
import { icon } from "../elements/icons.js";
import { MessageRow } from "../message/row.js";
import { groupItems, newestGroup, sameItems } from "../state/items.js";
import { describeSummary, sendsSummary } from "../state/summary.js";
import { ClearLine } from "./clear-line.js";
import { drawEmptyChat } from "./empty-chat.js";
import { FarRows } from "./far-rows.js";
import { ForgetLine } from "./forget-line.js";
import { Horizon } from "./horizon.js";
import { PlainRow } from "./plain-row.js";
import { ReadingPlace } from "./reading-place.js";
import { say } from "../words/say.js";

/**
 * @import { ViewMemory } from "../message/reasoning.js"
 * @import { Actions } from "../message/row.js"
 * @import { ItemGroup } from "../state/items.js"
 * @import { Page } from "../types/page.js"
 * @import { State } from "../types/state.js"
 * @import { Decision, SearchHit } from "../types/wire.js"
 */

const NEAR = 48;
const ALONE = ["unanswered", "greeting", "excluded", "background"];
// In ms: long enough for the eye to find it after the way there.
const POINTED_OUT = 2_500;
const FURTHEST = 40;
// The column, and beside it the arrow that leads to the newest message, or the agent's face.
const ROOMY = 800;

export class Transcript {
  /**
   * @param {Omit<Actions, "memory"> & {earlier: (until?: number) => Promise<void>,
   *   suggest: (text: string) => void, sample: () => Promise<void>, betterModel: () => void, remember: () => void, summary: () => void, policy: () => void,
   *   compact: () => void, recall: (version: number, again: boolean) => void}} actions
   * @param {Pick<Page, "policies"|"memory">} page
   */
  constructor(actions, page) {
    this.withSummary = page.policies.with_summary;
    this.who = page.memory;
    /** @type {ViewMemory} */
    const memory = { open: new Set(), took: new Map() };
    this.actions = { ...actions, memory };
    /** @type {State|null} */
    this.state = null;
    this.log = byId("log");
    this.column = byId("col");
    this.newest = byId("newest");
    setChildren(this.newest, icon("arrow", 18));
    this.place = new ReadingPlace(this.log, this.column);
    new FarRows(this.column);
    /** @type {Promise<void>|null} */
    this.loading = null;
    // Older messages couldn't be loaded: the button asks again, scrolling doesn't.
    this.stuck = false;
    this.horizon = new Horizon({
      summary: () => this.actions.summary(),
      change: () => this.actions.policy(),
      compact: () => this.actions.compact(),
      recall: (version, again) => this.actions.recall(version, again),
    });
    this.log.after(this.horizon.mark);
    this.marker = new ForgetLine(() => this.actions.remember());
    /** @type {Map<string, MessageRow|PlainRow>} */
    this.rows = new Map();
    /** @type {Set<MessageRow|PlainRow>} rows whose marks aren't up to date */
    this.changed = new Set();
    this.clearLine = new ClearLine(this.log, this.horizon.said, () => (this.atBottom = false));
    this.wasAtBottom = false;
    this.atBottom = true;
    this.lastTop = 0;
    this.lastHeight = 0;
    this.intro = h("div", { class: "intro" });
    this.prompts = h("div", { class: "prompts" });
    this.more = pressable(
      { class: "more" },
      () => this.loading ?? this.showEarlier(),
      say("Show earlier messages"),
    );
    setChildren(this.column);
    this.log.addEventListener("scroll", () => this.#scrolled(), { passive: true });
    new ResizeObserver(() => this.#settle()).observe(this.column);
    new ResizeObserver(() => this.#settle()).observe(this.log);
    this.newest.addEventListener("click", () => this.scrollToNewest());
  }

  /**
   * @param {State} state
   * @param {State} before
   */
  update(state, before) {
    this.state = state;
    if (state.conversationId !== before.conversationId) this.#clear();
    const moved =
      state.messages !== before.messages ||
      state.pending !== before.pending ||
      state.agent !== before.agent ||
      state.forgetAbove !== before.forgetAbove ||
      state.receipt !== before.receipt ||
      (state.turn === null) !== (before.turn === null) ||
      state.turn?.id !== before.turn?.id ||
      !this.rows.size;
    if (moved) keepFocus(this.column, () => this.#arrange(state));
    else if (state.turn !== before.turn) this.#stream(state);
    const marks = moved || state.decision !== before.decision || state.summary !== before.summary;
    if (marks) this.#mark(state, before);
    if (state.pending.length > before.pending.length) this.scrollToNewest();
    else if (marks && !this.atBottom) this.place.hold();
  }

  scrollToNewest() {
    this.atBottom = true;
    this.log.scrollTop = this.log.scrollHeight;
    this.#showArrow(false);
  }

  /**
   * Loads older messages.
   * @param {number} [until] the message that is wanted
   */
  async showEarlier(until) {
    while (this.loading) await this.loading;
    this.loading = this.#loadEarlier(until).finally(() => (this.loading = null));
    await this.loading;
  }

  /** @param {number} [until] */
  async #loadEarlier(until) {
    const first = this.state?.messages[0]?.seq;
    this.more.disabled = true;
    this.place.note();
    try {
      await this.actions.earlier(until);
    } finally {
      this.more.disabled = false;
    }
    this.stuck = first === this.state?.messages[0]?.seq;
  }

  /** Goes to the horizon, loading older messages if needed; false where there is none. */
  async scrollToHorizon() {
    const line = this.state?.decision?.horizon ?? null;
    for (let pages = 0; pages < FURTHEST; pages += 1) {
      if (line === null || this.horizon.element.isConnected || !this.state?.earlier) break;
      await this.showEarlier();
    }
    if (!this.horizon.element.isConnected) return false;
    this.scrollTo(this.horizon.element);
    return true;
  }

  /**
   * Shows a stored message, loading older ones if needed.
   * @param {number} seq
   * @param {SearchHit["parts"]} [parts] its text around the words that were looked for
   * @returns {Promise<boolean>} false where it isn't there
   */
  async scrollToMessage(seq, parts = []) {
    const found = () => this.elementOf(seq);
    for (let pages = 0; pages < FURTHEST; pages += 1) {
      if (found() || !this.state?.earlier || (this.state.messages[0]?.seq ?? 0) < seq) break;
      await this.showEarlier(seq);
    }
    const element = found();
    if (!element) return false;
    const words = parts.some(([, marked]) => marked)
      ? await (await import("./found-words.js")).markFound(element, parts)
      : null;
    this.scrollTo(element, words ?? element);
    if (!words) pointOut(element);
    return true;
  }

  /**
   * The element of a message that is loaded.
   * @param {number} seq
   */
  elementOf(seq) {
    return /** @type {HTMLElement|null} */ (
      this.column.querySelector(`[data-seq="${Number(seq)}"]`)
    );
  }

  /**
   * Scrolls so that a message's upper edge is where it was, or goes to it where it isn't loaded.
   * @param {number} seq
   * @param {number} top in the window
   */
  hold(seq, top) {
    const row = this.elementOf(seq)?.closest("article") ?? null;
    this.atBottom = false;
    if (row) this.log.scrollTop += row.getBoundingClientRect().top - top;
    else void this.scrollToMessage(seq);
    return row;
  }

  /**
   * Scrolls so that the line isn't under a menu in which it is moved; afterwards the end is shown again, if it was before.
   * @param {HTMLElement|null} cover
   */
  keepClear(cover) {
    if (cover) this.wasAtBottom = this.atBottom;
    this.clearLine.cover(cover);
    if (!cover && this.wasAtBottom) this.scrollToNewest();
  }

  /** @param {HTMLElement} element @param {Range|HTMLElement} place the part of it that is shown in the middle */
  scrollTo(element, place = element) {
    this.atBottom = false;
    const { top, bottom } = place.getBoundingClientRect();
    // Far away lie rows whose height isn't known yet: a way that is drawn would end elsewhere.
    const far = bottom < -innerHeight || top > 2 * innerHeight || place !== element;
    const behavior = far || reducedMotion() ? "instant" : "smooth";
    const view = this.log.getBoundingClientRect();
    // Of what is higher than the window, the beginning.
    const by = Math.min((top + bottom - view.top - view.bottom) / 2, top - view.top - 24);
    this.log.scrollBy({ top: by, behavior });
    // Also where nothing moves yet: what is above gets its height later.
    if (far || !Math.round(by)) this.place.keep(place);
    element.focus({ preventScroll: true });
  }

  #clear() {
    this.rows.clear();
    this.changed.clear();
    this.horizon.remove();
    setChildren(this.column);
    this.place.forget();
    this.stuck = false;
    this.atBottom = true;
  }

  /** @param {State} state */
  #arrange(state) {
    const list = groupItems(state);
    const wanted = new Set(list.map((group) => group.key));
    for (const [key, row] of this.rows) {
      if (wanted.has(key)) continue;
      row.element.remove();
      this.rows.delete(key);
    }
    const begun = state.messages.length > 0 || state.pending.length > 0;
    const elements = list.flatMap((group) => {
      const { element } = this.#row(group);
      const [item] = group.items;
      return item.forgets && item.seq === state.forgetAbove
        ? [this.marker.element, element]
        : [element];
    });
    // Everything so far is forgotten: the line waits for the next message.
    if (state.forgetAbove > (state.messages.at(-1)?.seq ?? state.forgetAbove))
      elements.splice(elements.length - state.pending.length, 0, this.marker.element);
    this.#order([
      ...(state.earlier ? [this.more] : []),
      ...(begun ? [] : [this.intro]),
      ...elements,
      ...(begun ? [] : [this.prompts]),
    ]);
    if (!begun)
      drawEmptyChat(this.intro, this.prompts, state, { ...this.actions, memory: this.who });
  }

  /**
   * A message that can't be drawn is shown as plain text, so that it hides no other.
   * @param {ItemGroup} group
   */
  #row(group) {
    let row = this.rows.get(group.key);
    try {
      if (row instanceof MessageRow && sameItems(row.group, group)) return row;
      if (row) row.update(group);
      else row = new MessageRow(group, this.actions);
    } catch (error) {
      console.error(error);
      row = new PlainRow(group);
    }
    this.rows.set(group.key, row);
    this.changed.add(row);
    return row;
  }

  /**
   * Brings the column's children into this order with as few moves as possible.
   * @param {Element[]} elements
   */
  #order(elements) {
    const wanted = new Set(elements);
    for (const child of [...this.column.children]) {
      if (!wanted.has(child) && child !== this.horizon.element) child.remove();
    }
    let place = this.column.firstElementChild;
    for (const element of elements) {
      if (place === this.horizon.element && place !== element) place = place.nextElementSibling;
      if (place === element) place = element.nextElementSibling;
      else this.column.insertBefore(element, place);
    }
  }

  /** @param {State} state */
  #stream(state) {
    const group = newestGroup(state);
    if (group && !this.#row(group).element.isConnected) this.#arrange(state);
  }

  /**
   * Shows on each message what the decision says of it; where the decision is the one of before, on those that changed.
   * @param {State} state
   * @param {State} before
   */
  #mark(state, before) {
    const { decision } = state;
    const rows = decision === before.decision ? this.changed : this.rows.values();
    for (const row of rows) row.updateStatus(decision);
    this.changed.clear();
    this.#placeHorizon(state);
  }

  /** @param {State} state */
  #placeHorizon(state) {
    const { decision, messages, earlier, turn, pending } = state;
    const line = decision?.horizon ?? null;
    const loaded = messages[0]?.seq ?? 0;
    if (
      !decision ||
      line === null ||
      !messages.length ||
      !divides(decision, line) ||
      (earlier && line < loaded)
    ) {
      return this.horizon.remove();
    }
    const next = this.#firstBelow(line);
    const sent = sendsSummary(decision);
    const { compaction, undone } = state.summary;
    const words = describeSummary(state, this.withSummary);
    const summary = { words, sent, compaction: sent ? compaction : 0, undone };
    this.horizon.place(this.column, next, {
      empty: !next && !turn && !pending.length,
      summary,
      decision,
    });
    this.horizon.point(this.log);
    this.clearLine.update();
  }

  /**
   * The first element below the line, in the order of the page.
   * @param {number} line
   */
  #firstBelow(line) {
    for (const element of this.column.querySelectorAll("article.m")) {
      const { seq } = /** @type {HTMLElement} */ (element).dataset;
      if (seq === undefined || Number(seq) >= line) return element;
    }
    return null;
  }

  /** @param {boolean} away whether the newest message is out of view */
  #showArrow(away) {
    this.newest.hidden = !away;
    this.log.parentElement?.classList.toggle("away", away);
  }

  #scrolled() {
    if (this.intro.isConnected) return; // a chat that hasn't begun is read from its top
    const { scrollHeight, scrollTop, clientHeight } = this.log;
    // Only scrolling up leaves the end; text written since the last frame also moves the end away.
    if (scrollHeight - scrollTop - clientHeight < NEAR) this.atBottom = true;
    // What got shorter draws the place up with it, before anything is settled.
    else if (scrollTop < this.lastTop && scrollHeight >= this.lastHeight) this.atBottom = false;
    this.lastTop = scrollTop;
    this.lastHeight = scrollHeight;
    this.#showArrow(!this.atBottom);
    if (this.atBottom) return;
    this.place.note();
    if (scrollTop < clientHeight && this.state?.earlier && !this.loading && !this.stuck)
      void this.showEarlier();
  }

  #settle() {
    this.log.parentElement?.classList.toggle("tight", this.log.clientWidth < ROOMY);
    if (this.intro.isConnected) return;
    this.horizon.point(this.log);
    if (this.atBottom) {
      this.log.scrollTop = this.log.scrollHeight;
      // Where what is there got shorter nobody scrolled up.
      this.lastTop = this.log.scrollTop;
      this.lastHeight = this.log.scrollHeight;
    } else {
      this.place.hold();
      this.#scrolled();
    }
  }
}

/**
 * Whether something above the line could be sent. What was left out by itself carries a mark of its own.
 * @param {Decision} decision
 * @param {number} line
 */
const divides = ({ verdicts }, line) =>
  verdicts.some(
    ({ first, sent, reason }) => first > 0 && first < line && !sent && !ALONE.includes(reason),
  );

/**
 * Shows for a moment which message was looked for.
 * @param {HTMLElement} element
 */
function pointOut(element) {
  element.classList.add("pointed-out");
  setTimeout(() => element.classList.remove("pointed-out"), POINTED_OUT);
}
