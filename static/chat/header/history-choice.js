/** What a person chose of the policy and its settings, until the server has kept it with the conversation. */

import { clearHistoryParameters, hasHistoryParameters } from "../net/address.js";
import { loadChoice, storeChoice } from "../net/drafts.js";

/**
 * @import { State } from "../types/state.js"
 * @import { Choice, ChoiceChanges } from "../types/wire.js"
 */

export class HistoryChoice {
  /**
   * @param {{send: (choice: Choice) => string, changed: () => void}} actions `send` gives the command's ref, or ""
   *   where there is no connection; `changed`: other settings apply to the next message
   */
  constructor(actions) {
    this.actions = actions;
    this.conversation = "";
    /** @type {Choice|null} what isn't kept yet: of a chat that hasn't begun, or on its way */
    this.chosen = null;
    this.ref = "";
    /** @type {State|null} */
    this.state = null;
  }

  /** @param {string} conversation */
  enter(conversation) {
    this.conversation = conversation;
    this.chosen = loadChoice(conversation);
    this.ref = "";
    this.state = null;
  }

  /**
   * The history parameters leave the address once the choice is kept: until then they hold, and after a refusal, too.
   * @param {State} state
   */
  update(state) {
    this.state = state;
    if (!state.opened) this.ref = "";
    if (!state.opened || !state.conversation || !this.chosen) return;
    if (isSame(this.chosen, state.conversation.history ?? {})) this.#kept();
    else if (this.ref && state.refusal?.ref === this.ref) this.#refused();
    else if (!this.ref) this.ref = this.actions.send(this.chosen);
  }

  /**
   * @param {ChoiceChanges} changes
   * @param {Choice} kept what the choice starts from where the address has settings, by the last preview; without
   *   them the conversation itself says it, and is newer
   */
  choose(changes, kept) {
    this.#choose(this.changed(changes, kept));
  }

  /**
   * The whole choice after these changes, which are made to nothing yet.
   * @param {ChoiceChanges} changes
   * @param {Choice} kept as for `choose`
   * @returns {Choice}
   */
  changed(changes, kept) {
    const start = hasHistoryParameters() ? kept : this.state?.conversation?.history;
    const all = Object.entries({ ...(this.chosen ?? start), ...changes });
    return Object.fromEntries(
      all.filter(/** @returns {one is [string, string]} */ (one) => one[1] !== null),
    );
  }

  /** Leaves everything to the agent again. */
  reset() {
    this.#choose({});
  }

  /** The link's settings end, and what is kept with the conversation applies. */
  dropLink() {
    clearHistoryParameters();
    this.actions.changed();
  }

  /** @param {Choice} choice */
  #choose(choice) {
    this.#hold(choice);
    if (this.state?.conversation) this.update(this.state);
    else this.dropLink();
  }

  /** What applied before applies still: the server's word is drawn again. */
  #refused() {
    this.#hold(null);
    this.actions.changed();
  }

  #kept() {
    this.#hold(null);
    this.dropLink();
  }

  /** @param {Choice|null} choice */
  #hold(choice) {
    this.chosen = choice;
    this.ref = "";
    storeChoice(this.conversation, choice);
  }
}

/**
 * @param {Choice} one
 * @param {Choice} other
 */
function isSame(one, other) {
  const names = Object.keys(one);
  return (
    names.length === Object.keys(other).length && names.every((name) => one[name] === other[name])
  );
}
