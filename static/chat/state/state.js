/** The state of the open conversation, and the changes that the page itself makes to it. Pure. */

import { say } from "../words/say.js";

/**
 * @import { RunningTurn, PendingMessage, State } from "../types/state.js"
 * @import { Agent, Decision, Message, Summary, Verdict } from "../types/wire.js"
 */

/**
 * The state before the first snapshot.
 * @param {string} conversationId
 * @param {string} agentSlug
 * @param {Agent|null} agent
 * @returns {State}
 */
export function initialState(conversationId, agentSlug, agent) {
  return {
    conversationId,
    agentSlug,
    agent,
    opened: false,
    conversation: null,
    messages: [],
    earlier: false,
    room: "",
    turn: null,
    receipt: null,
    decision: null,
    problem: null,
    previewRef: null,
    engine: null,
    pending: [],
    forgetAbove: 0,
    summary: noSummary(true),
    refusal: null,
    ended: null,
    stale: false,
    sure: Infinity,
    deleted: false,
    cacheVersion: 0,
  };
}

/**
 * @param {boolean} on whether summaries may be made in the conversation
 * @returns {Summary}
 */
export const noSummary = (on) => ({
  on,
  version: 0,
  messages: 0,
  by: "",
  last: 0,
  compaction: 0,
  undone: 0,
});

/**
 * A turn that writes a message which begins with these texts.
 * @param {{id: string, user_message: string, text: string, reasoning: string}} beginning
 * @returns {RunningTurn}
 */
export function beginWriting({ id, user_message, text, reasoning }) {
  const lengths = { text: countCharacters(text), reasoning: countCharacters(reasoning) };
  return { id, user_message, text, reasoning, calling: [], waiting: null, reading: null, lengths };
}

/**
 * Counts characters as the server does: code points, where JavaScript counts UTF-16 units.
 * @param {string} text
 */
export function countCharacters(text) {
  let count = 0;
  for (const _ of text) count += 1;
  return count;
}

/** @param {State} state */
export const lastSeq = (state) => state.messages.at(-1)?.seq ?? 0;

/**
 * Draws a message before it is stored; the server's own message will replace it.
 * @param {State} state
 * @param {PendingMessage} pending
 * @returns {State}
 */
export function addPending(state, pending) {
  return { ...state, pending: [...state.pending, pending], refusal: null };
}

/**
 * Removes a drawn message that can't be sent.
 * @param {State} state
 * @param {string} clientId
 * @returns {State}
 */
export function removePending(state, clientId) {
  return { ...state, pending: state.pending.filter((one) => one.client_id !== clientId) };
}

/**
 * Notes which preview is awaited; an answer to an older request changes nothing.
 * @param {State} state
 * @param {string} ref
 * @returns {State}
 */
export const expectPreview = (state, ref) => ({ ...state, previewRef: ref });

/**
 * Notes that what is written is longer than one message can be: no preview is made of it.
 * @param {State} state
 * @returns {State}
 */
export const refusePreview = (state) =>
  state.problem?.code === "too_long"
    ? state
    : {
        ...state,
        problem: {
          code: "too_long",
          message: say(
            "What is written is longer than one message can be, so there are no numbers.",
          ),
        },
      };

/**
 * Adds older messages above those that are loaded.
 * @param {State} state
 * @param {Message[]} messages
 * @param {boolean} earlier whether there are still older ones
 * @returns {State}
 */
export function addEarlier(state, messages, earlier) {
  return { ...state, messages: mergeMessages(messages, state.messages), earlier };
}

/**
 * Notes that the connection was lost; the next snapshot brings what was missed.
 * @param {State} state
 * @returns {State}
 */
export const disconnect = (state) => ({ ...state, opened: false, stale: false });

/**
 * Merges two lists by sequence number; of one id the second list's message counts.
 * @param {Message[]} some
 * @param {Message[]} others
 */
export function mergeMessages(some, others) {
  const byId = new Map([...some, ...others].map((message) => [message.id, message]));
  return [...byId.values()].sort((a, b) => a.seq - b.seq);
}

/**
 * The verdict on the message with this sequence number: the narrowest run around it, since marked
 * turns lie inside the run of the messages that weren't loaded.
 * @param {Decision|null} decision
 * @param {number} seq
 * @returns {Verdict|null}
 */
export function findVerdict(decision, seq) {
  if (!decision) return null;
  const around = decision.verdicts.filter(
    (one) => one.first > 0 && one.first <= seq && seq <= one.last,
  );
  return around.sort((a, b) => a.last - a.first - (b.last - b.first))[0] ?? null;
}

/**
 * How many tokens the next message has above its limit; 0 where it can be sent.
 * @param {Decision|null} decision
 */
export const tokensTooMany = (decision) =>
  decision ? Math.max(0, decision.prompt_tokens - decision.limit) : 0;
