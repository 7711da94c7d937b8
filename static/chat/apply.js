import { merged, noSummary } from "./state.js";

/**
 * What an event from the server makes of the state. Pure: a snapshot and the events after it
 * give the same state as a fresh snapshot.
 * @param {import("./state.js").State} state
 * @param {any} event as in chatsite/events.py
 * @returns {import("./state.js").State}
 */
export function apply(state, event) {
  switch (event.type) {
    case "snapshot":
      return event.conversation_id === state.conversationId ? snapshot(state, event) : state;
    case "turn_started":
      return event.conversation.id === state.conversationId && state.opened ? turnStarted(state, event) : state;
    case "decided":
      return state.turn?.id === event.turn ? { ...state, receipt: event.receipt } : state;
    case "delta":
      return state.turn?.id === event.turn ? delta(state, event) : state;
    case "turn_ended":
      return state.opened ? turnEnded(state, event) : state;
    case "renamed":
      if (!state.opened || !state.conversation) return state;
      return { ...state, conversation: { ...state.conversation, title: event.title } };
    case "marked":
      return state.opened ? marked(state, event) : state;
    case "summary_changed":
      return state.opened ? { ...state, summary: event.summary } : state;
    case "cleared":
      if (!state.opened) return state;
      return {
        ...state, messages: [], earlier: false, turn: null, receipt: null, decision: null, forgetAbove: 0,
        summary: noSummary(state.summary.on),
      };
    case "deleted":
      return state.opened ? { ...state, deleted: true, turn: null } : state;
    case "refused":
      return refused(state, event);
    case "preview":
      if (event.ref !== state.asked) return state;
      return { ...state, decision: event.decision ?? state.decision, problem: event.problem };
    case "engine":
      return engine(state, event);
    default:
      return state;
  }
}

/** Who can answer now: where a model can't, another provider stands in and is named. */
function engine(state, event) {
  const known = { state: event.state, sentence: event.sentence, progress: event.progress };
  return { ...state, engine: known, agent: state.agent && { ...state.agent, provider: event.provider } };
}

/** Characters as the server counts them: code points, where JavaScript counts UTF-16 units. */
function characters(text) {
  let count = 0;
  for (const _ of text) count += 1;
  return count;
}

function snapshot(state, event) {
  const first = event.messages[0];
  // Older messages that were loaded before stay while they still lead up to the newest ones.
  const joins = first && state.messages.some((message) => message.id === first.id);
  const older = joins ? state.messages.filter((message) => message.seq < first.seq) : [];
  return {
    ...state,
    opened: true,
    stale: false,
    deleted: false,
    conversation: event.conversation,
    agent: event.agent,
    agentSlug: event.agent?.slug ?? state.agentSlug,
    messages: [...older, ...event.messages],
    earlier: older.length ? state.earlier : event.earlier,
    turn: event.turn ? { ...event.turn, length: characters(event.turn.text) } : null,
    receipt: event.receipt ?? (joins ? state.receipt : null),
    engine: event.engine,
    forgetAbove: event.forget_above,
    summary: event.summary,
  };
}

function marked(state, { message: id, pinned, excluded, forget_above: forgetAbove }) {
  const messages = state.messages.map((one) => (one.id === id ? { ...one, pinned, excluded } : one));
  return { ...state, messages, forgetAbove };
}

function turnStarted(state, event) {
  const messages = merged(state.messages, event.messages);
  const asking = event.messages.findLast((message) => message.role === "user");
  // Of a turn that was started before, the snapshot has told whether it still runs.
  const known = event.resent || state.turn?.id === event.turn;
  return {
    ...state,
    conversation: event.conversation,
    messages,
    pending: state.pending.filter((one) => one.client_id !== event.client_id),
    turn: known ? state.turn : { id: event.turn, user_message: asking?.id ?? "", text: "", length: 0 },
  };
}

function delta(state, event) {
  const { turn } = state;
  const length = characters(event.text);
  if (event.offset === turn.length) {
    return { ...state, turn: { ...turn, text: turn.text + event.text, length: turn.length + length } };
  }
  // What is already here may come twice; a gap can only be filled by a new snapshot.
  return event.offset + length <= turn.length ? state : { ...state, stale: true };
}

function turnEnded(state, event) {
  const asking = state.turn?.id === event.turn ? state.turn.user_message : null;
  const told = event.problem && asking
    ? state.messages.map((message) => (message.id === asking ? { ...message, problem: event.problem } : message))
    : state.messages;
  return {
    ...state,
    turn: state.turn?.id === event.turn ? null : state.turn,
    messages: event.message ? merged(told, [event.message]) : told,
    receipt: event.receipt ?? state.receipt,
    ended: { turn: event.turn, state: event.state, problem: event.problem },
  };
}

function refused(state, event) {
  const problem = { code: event.code, message: event.message };
  if (event.ref === state.asked) return { ...state, problem };
  const pending = state.pending.find((one) => one.ref === event.ref);
  return {
    ...state,
    pending: state.pending.filter((one) => one !== pending),
    refusal: { ...problem, ref: event.ref, said: pending ?? null },
  };
}
