/** Messages that were written while an answer was being written: a list, changed by plain functions. Pure. */

/** @import { Draft, State } from "../types/state.js" */

/** @typedef {Draft & {client_id: string}} Queued `client_id` makes sure that two tabs send it once */

// More than anybody overlooks; a longer list is most likely a mistake.
export const MOST = 20;

/**
 * @param {Queued[]} list
 * @param {string} id
 * @param {string} text
 * @returns {Queued[]}
 */
export const changeText = (list, id, text) =>
  list.map((one) => (one.client_id === id ? { ...one, text } : one));

/**
 * @param {Queued[]} list
 * @param {string} id
 * @returns {Queued[]}
 */
export const withoutMessage = (list, id) => list.filter((one) => one.client_id !== id);

/**
 * @param {Queued[]} list
 * @param {string} id
 * @param {number} by places, down for more than 0
 * @returns {Queued[]} the same list where there is no such place
 */
export function move(list, id, by) {
  const from = list.findIndex((one) => one.client_id === id);
  const to = from + by;
  if (from < 0 || to < 0 || to >= list.length) return list;
  const moved = [...list];
  moved.splice(to, 0, ...moved.splice(from, 1));
  return moved;
}

/**
 * How the turn ended that ran before; null where none ended now.
 * @param {State} state
 * @param {State} before
 * @returns {"complete"|"other"|null} after a stop or a failure a person decides what happens with the queue
 */
export function turnEnding(state, before) {
  if (!before.turn || state.turn || state.conversationId !== before.conversationId || !state.opened)
    return null;
  const last = state.messages.findLast(({ role }) => role === "assistant");
  return last?.state === "complete" ? "complete" : "other";
}
