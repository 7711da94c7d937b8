/** The temperature and the longest reply that were chosen for a chat, until the server has kept them with it. */

import { loadTuning, storeTuning } from "../net/drafts.js";

/**
 * @import { State } from "../types/state.js"
 * @import { Decision, Tuning } from "../types/wire.js"
 */

export class ChatTuning {
  /** @param {() => void} changed called after another value was chosen */
  constructor(changed) {
    this.changed = changed;
    this.conversation = "";
    /** @type {Tuning|null} what was chosen and no message was sent with yet */
    this.chosen = null;
    /** @type {Tuning} */
    this.kept = {};
    /** @type {Decision|null} */
    this.decision = null;
    /** @type {(decision: Decision|null) => void} hears of every preview while the controls are open */
    this.told = () => {};
  }

  /** @param {string} conversation */
  enter(conversation) {
    this.conversation = conversation;
    this.chosen = loadTuning(conversation);
    this.kept = {};
  }

  /** @param {State} state */
  update({ conversation, decision }) {
    if (decision !== this.decision) this.told(decision);
    this.decision = decision;
    if (!conversation) return;
    this.kept = conversation.tuning ?? {};
    if (this.chosen && isSame(this.chosen, this.kept)) this.#hold(null);
  }

  /** What applies to the next message. */
  get now() {
    return this.chosen ?? this.kept;
  }

  /** What is sent with a command; null where a server of before this version needn't know of it. */
  get sent() {
    return this.chosen ?? (Object.keys(this.kept).length ? this.kept : null);
  }

  /** @param {Tuning} tuning */
  choose(tuning) {
    this.#hold(isSame(tuning, this.kept) ? null : tuning);
    this.changed();
  }

  /** @param {Tuning|null} tuning */
  #hold(tuning) {
    this.chosen = tuning;
    storeTuning(this.conversation, tuning);
  }
}

/**
 * @param {Tuning} one
 * @param {Tuning} other
 */
const isSame = (one, other) =>
  one.temperature === other.temperature && one.max_tokens === other.max_tokens;
