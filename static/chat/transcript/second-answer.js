/** Waits for another answer to a question that is asked again, and then offers both of them side by side. */

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
    /** @type {{conversation: string, former: string[], older: boolean, begun: boolean}|null} */
    this.waits = null;
  }

  /**
   * Another answer is asked for.
   * @param {State} state
   * @param {string} id of a message of the answer that is there
   */
  expect(state, id) {
    const former = answerWith(state, id).map((one) => one.id);
    const older = former.at(-1) !== state.messages.at(-1)?.id;
    this.waits = former.length
      ? { conversation: state.conversationId, former, older, begun: false }
      : null;
  }

  /** @param {State} state */
  update(state) {
    const { waits } = this;
    if (!waits) return;
    if (state.conversationId !== waits.conversation || (state.refusal && !waits.begun))
      this.waits = null;
    else if (state.turn) waits.begun = true;
    else if (waits.begun)
      this.#arrive(waits.former, answerWith(state, state.messages.at(-1)?.id), waits.older);
  }

  /**
   * Nothing is offered where the new answer failed: the former one is back then, or there is none.
   * @param {string[]} former the messages of the answer before
   * @param {Message[]} answer
   * @param {boolean} older whether something was below the answer before
   */
  #arrive(former, answer, older) {
    this.waits = null;
    for (const { id, versions } of answer) {
      const at = versions.findIndex((one) => one.id === id);
      const other = versions.findLastIndex((one) => former.includes(one.id));
      if (at < 0 || other < 0 || at === other) continue;
      const words = older
        ? say(
            "There are two answers now. The one before is kept as a version, with all that was below it.",
          )
        : say("There are two answers now. The one before is kept as a version.");
      toast(words, {
        label: say("Side by side"),
        act: () => this.open(versions, at, other),
        seconds: OFFERED_SECONDS,
        about: "second-answer",
      });
      return;
    }
  }
}

/**
 * The messages of the answer that a message belongs to.
 * @param {State} state
 * @param {string} [id]
 * @returns {Message[]}
 */
function answerWith({ messages, turn }, id) {
  const at = messages.findIndex((one) => one.id === id);
  if (turn || at < 0) return [];
  const asked = messages.slice(0, at + 1).findLastIndex(({ role }) => role === "user");
  const next = messages.findIndex(({ role }, index) => index > at && role === "user");
  return messages
    .slice(asked + 1, next < 0 ? undefined : next)
    .filter(({ role }) => role === "assistant");
}
