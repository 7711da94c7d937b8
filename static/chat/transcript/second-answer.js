/** Waits for a second answer to the same question, to offer both side by side. */

import { toast } from "../elements/toast.js";
import { say } from "../words/say.js";

/** @import { State } from "../types/state.js" */

/**
 * `id` of its last message, which names it as a version; `text` is all that it says.
 * @typedef {{id: string, turn: string, text: string}} Answer
 */

const OFFERED_SECONDS = 60;

export class SecondAnswer {
  /** @param {(first: Answer, second: Answer) => void} open */
  constructor(open) {
    this.open = open;
    /** @type {{conversation: string, first: Answer, begun: boolean}|null} */
    this.waits = null;
  }

  /**
   * Another answer is asked for.
   * @param {State} state
   */
  expect(state) {
    const first = lastAnswer(state);
    this.waits = first && { conversation: state.conversationId, first, begun: false };
  }

  /** @param {State} state */
  update(state) {
    const { waits } = this;
    if (!waits) return;
    if (state.conversationId !== waits.conversation || (state.refusal && !waits.begun)) this.waits = null;
    else if (state.turn) waits.begun = true;
    else if (waits.begun) this.#arrive(waits.first, lastAnswer(state));
  }

  /**
   * @param {Answer} first
   * @param {Answer|null} second null where it failed, the first one where nothing was written
   */
  #arrive(first, second) {
    this.waits = null;
    if (!second || second.id === first.id) return;
    toast(say("There are two answers now. The one before is kept as a version."), {
      label: say("Side by side"), act: () => this.open(first, second), seconds: OFFERED_SECONDS, about: "second-answer",
    });
  }
}

/**
 * The answer at the end of the path.
 * @param {State} state
 * @returns {Answer|null}
 */
function lastAnswer({ messages, turn }) {
  const last = messages.at(-1);
  if (turn || last?.role !== "assistant" || !last.turn) return null;
  const said = messages.filter((one) => one.turn === last.turn && one.role === "assistant").map(({ content }) => content).filter(Boolean);
  return said.length ? { id: last.id, turn: last.turn, text: said.join("\n\n") } : null;
}
