/** Which rows the transcript shows for a state. Pure. */

import { verdictOf } from "./state.js";

const PLAIN = { seq: null, created: "", state: "complete", finish: "", turn: null, writing: false, waiting: false,
  problem: null, failed: false };

/**
 * @param {import("./state.js").State} state
 * @returns {import("./message.js").Item[]}
 */
export function items(state) {
  const name = state.agent?.name ?? "Agent";
  const rows = state.messages.length ? stored(state, name) : greeting(state, name);
  for (const pending of state.pending) {
    rows.push({
      ...PLAIN, key: pending.client_id, role: "user", name: "You", content: pending.text, created: pending.at,
      waiting: true,
    });
  }
  if (state.turn) {
    rows.push({
      ...PLAIN, key: `turn:${state.turn.id}`, role: "assistant", name, content: state.turn.text, writing: true,
      turn: state.turn.id,
    });
  }
  return rows;
}

function greeting(state, name) {
  return (state.agent?.greeting ?? []).map((content, index) => ({
    ...PLAIN, key: `greeting:${index}`, role: "assistant", name, content,
  }));
}

function stored(state, name) {
  const shown = state.messages.filter(
    (message) => (message.role === "user" || message.role === "assistant") && !isRunning(state, message),
  );
  return shown.map((message, index) => ({
    ...PLAIN,
    key: message.id,
    role: message.role,
    name: message.role === "user" ? "You" : name,
    content: message.content ?? "",
    seq: message.seq,
    created: message.created,
    state: message.state,
    finish: message.finish_reason,
    turn: message.role === "assistant" ? message.turn : null,
    problem: message.problem,
    failed: message.role === "user" && isUnanswered(state, shown, index),
  }));
}

/** Nothing was stored as its answer and nothing is being written: whatever went wrong, it can be said. */
function isUnanswered(state, shown, index) {
  const next = shown[index + 1];
  return next ? next.role === "user" : state.turn === null;
}

/** The running answer is shown from the turn, not from what was last saved of it. */
const isRunning = (state, message) => message.state === "running" && message.role === "assistant"
  && state.turn !== null;

/**
 * Whether a message is above the line, and the mark it carries where its own verdict differs.
 * @param {import("./state.js").Decision|null} decision
 * @param {number|null} seq
 * @returns {{out: boolean, mark: import("./message.js").Mark}}
 */
export function standing(decision, seq) {
  if (!decision || seq === null) return { out: false, mark: null };
  const above = decision.horizon !== null && seq < decision.horizon;
  const verdict = verdictOf(decision, seq);
  if (!verdict) return { out: above, mark: null };
  if (above && verdict.sent) return { out: false, mark: { kind: "sent", sentence: verdict.sentence } };
  if (!above && !verdict.sent) return { out: true, mark: { kind: "left", sentence: verdict.sentence } };
  return { out: above, mark: null };
}
