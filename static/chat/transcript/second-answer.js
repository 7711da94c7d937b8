/** Waits for an answer that somebody asked for with another memory or model, to offer both side by side. */

import { toast } from "../elements/toast.js";
import { say } from "../words/say.js";

/**
 * @import { State } from "../types/state.js"
 * @import { Message, Version } from "../types/wire.js"
 */

// Later the menu of all versions still leads there.
const OFFERED_SECONDS = 30;

export class SecondAnswer {
  /** @param {(versions: Version[], at: number, other: number) => void} open */
  constructor(open) {
    this.open = open;
    /** @type {{conversation: string, former: string[], begun: boolean}|null} */
    this.waits = null;
  }

  /**
   * Another answer is asked for.
   * @param {State} state
   */
  expect(state) {
    const former = lastAnswer(state).map(({ id }) => id);
    this.waits = former.length ? { conversation: state.conversationId, former, begun: false } : null;
  }

  /** @param {State} state */
  update(state) {
    const { waits } = this;
    if (!waits) return;
    if (state.conversationId !== waits.conversation || (state.refusal && !waits.begun)) this.waits = null;
    else if (state.turn) waits.begun = true;
    else if (waits.begun) this.#arrive(waits.former, lastAnswer(state));
  }

  /**
   * Nothing is offered where the new answer failed: the former one is back then, or there is none.
   * @param {string[]} former the messages of the answer before
   * @param {Message[]} answer
   */
  #arrive(former, answer) {
    this.waits = null;
    for (const { id, versions } of answer) {
      const at = versions.findIndex((one) => one.id === id);
      const other = versions.findLastIndex((one) => former.includes(one.id));
      if (at < 0 || other < 0 || at === other) continue;
      toast(say("There are two answers now. The one before is kept as a version."), {
        label: say("Side by side"), act: () => this.open(versions, at, other), seconds: OFFERED_SECONDS, about: "second-answer",
      });
      return;
    }
  }
}

/**
 * The messages of the answer at the end of the path.
 * @param {State} state
 * @returns {Message[]}
 */
function lastAnswer({ messages, turn }) {
  const asked = messages.findLastIndex(({ role }) => role === "user");
  return turn ? [] : messages.slice(asked + 1).filter(({ role }) => role === "assistant");
}
