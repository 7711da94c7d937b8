/** Announcements of a turn to screen readers: its start, its tools, its end, its problems. Never the streamed text. */

import { announce } from "../elements/announce.js";
import { countLeftOut } from "../state/exchanges.js";
import { countWords, describeWaiting, formatNumber } from "../state/format.js";
import { say, sayCount } from "../words/say.js";

/**
 * @import { State } from "../types/state.js"
 * @import { Decision } from "../types/wire.js"
 */

/**
 * @param {State} state
 * @param {State} before
 */
export function announceChanges(state, before) {
  if (state.conversationId !== before.conversationId) return;
  const name = state.agent?.name ?? say("The agent");
  if (state.turn && !before.turn && before.opened) announce(say("{name} is answering…", { name }));
  const used = startedTools(state, before);
  if (used.length) announce(say("Using {used}.", { used: used.join(", ") }));
  const { waiting, reading } = state.turn ?? {};
  if (waiting && waiting !== before.turn?.waiting)
    announce(describeWaiting(waiting.sentence, Math.ceil(waiting.seconds)));
  if (reading && !before.turn?.reading)
    announce(say("The model reads {total} tokens first.", { total: formatNumber(reading.total) }));
  if (state.ended && state.ended !== before.ended)
    announce(describeEnding(state.ended, state, name));
}

/**
 * The tools whose calls began with this change, when the model writes the call or when the call runs.
 * @param {State} state
 * @param {State} before
 * @returns {string[]}
 */
function startedTools(state, before) {
  const { turn } = state;
  if (!turn || !before.turn || turn.id !== before.turn.id) return [];
  if (turn.calling.length) return turn.calling.slice(before.turn.calling.length);
  if (state.messages === before.messages || before.turn.calling.length) return [];
  const known = new Set(before.messages.map(({ id }) => id));
  const asked = state.messages.filter(({ id, calls }) => calls.length && !known.has(id));
  return asked.flatMap(({ calls }) => calls.map(({ name }) => name));
}

/**
 * @param {NonNullable<State["ended"]>} ended
 * @param {State} state
 * @param {string} name
 */
function describeEnding({ turn, state: how, problem }, state, name) {
  const answer = state.messages.findLast(
    (message) => message.role === "assistant" && message.turn === turn,
  );
  const words = answer
    ? sayCount("{count} word", "{count} words", countWords(answer.content ?? ""))
    : "";
  const left = countLeftOut(state.receipt);
  const unsent = sayCount("{count} earlier exchange", "{count} earlier exchanges", left);
  if (how === "complete") {
    return left > 0
      ? say("Answer complete, {words}, {exchanges} not sent.", { words, exchanges: unsent })
      : say("Answer complete, {words}.", { words });
  }
  if (how === "stopped")
    return words ? say("Answer stopped after {words}.", { words }) : say("Answer stopped.");
  return problem?.message ?? say("{name}'s answer was not completed.", { name });
}
