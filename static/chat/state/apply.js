import { characters, merged, noSummary, writing } from "./state.js";

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
      return during(state, event, decided);
    case "delta":
      return during(state, event, delta);
    case "calling":
      return during(state, event, calling);
    case "calls_started":
      return during(state, event, callsStarted);
    case "call_ended":
      return during(state, event, callEnded);
    case "waiting":
      return during(state, event, waiting);
    case "reading":
      return during(state, event, reading);
    case "turn_ended":
      return state.opened ? turnEnded(state, event) : state;
    case "renamed":
      if (!state.opened || !state.conversation) return state;
      return { ...state, conversation: { ...state.conversation, title: event.title } };
    case "marked":
      return state.opened ? marked(state, event) : state;
    case "summary_changed":
      return state.opened ? { ...state, summary: event.summary } : state;
    case "cache_changed":
      return state.opened ? cacheChanged(state, event) : state;
    case "path_changed":
      return state.opened ? { ...state, stale: true } : state;
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
    turn: event.turn && running(event.turn),
    receipt: event.receipt ?? (joins ? state.receipt : null),
    engine: event.engine,
    forgetAbove: event.forget_above,
    summary: event.summary,
  };
}

/** @returns {import("./state.js").Turn} */
function running(turn) {
  const waiting = turn.waiting ? { sentence: turn.waiting, seconds: 0 } : null;
  const [read, total] = turn.reading;
  return { ...writing(turn), calling: turn.calling, waiting, reading: total ? { read, total } : null };
}

function marked(state, { message: id, pinned, excluded, forget_above: forgetAbove }) {
  const messages = state.messages.map((one) => (one.id === id ? { ...one, pinned, excluded } : one));
  return { ...state, messages, forgetAbove };
}

/** Which messages a cleanup took out or gave back; whoever shows the cache asks for it anew. */
function cacheChanged(state, { status }) {
  const isNews = ({ id, kv_status: known }) => id in status && status[id] !== known;
  const messages = state.messages.some(isNews)
    ? state.messages.map((one) => (isNews(one) ? { ...one, kv_status: status[one.id] } : one))
    : state.messages;
  return { ...state, messages, cacheVersion: state.cacheVersion + 1 };
}

function turnStarted(state, event) {
  // Of a turn that was started before, the snapshot has told whether it still runs.
  const known = event.resent || state.turn?.id === event.turn;
  const gone = new Set(known ? [] : event.gone);
  const messages = merged(state.messages.filter((message) => !gone.has(message.id)), event.messages);
  const isAsked = (message) => message.role === "user";
  const asking = event.messages.findLast(isAsked) ?? messages.findLast(isAsked);
  return {
    ...state,
    conversation: event.conversation,
    messages,
    pending: state.pending.filter((one) => one.client_id !== event.client_id),
    turn: known ? state.turn : writing({ ...event, id: event.turn, user_message: asking?.id ?? "" }),
  };
}

/** A change by what happens in the turn that runs; whatever it is, nothing is waited for or read any more. */
function during(state, event, change) {
  const { turn } = state;
  if (turn?.id !== event.turn) return state;
  const over = turn.waiting || turn.reading;
  return change(over ? { ...state, turn: { ...turn, waiting: null, reading: null } } : state, event);
}

const decided = (state, { receipt }) => ({ ...state, receipt });

const calling = (state, { name }) => ({ ...state, turn: { ...state.turn, calling: [...state.turn.calling, name] } });

/** What follows is written into a new message. */
const callsStarted = (state, { messages }) => ({
  ...state,
  messages: merged(state.messages, messages),
  turn: writing({ ...state.turn, text: "", reasoning: "" }),
});

const callEnded = (state, { message }) => ({ ...state, messages: merged(state.messages, [message]) });

const waiting = (state, { sentence, seconds }) => ({
  ...state, turn: { ...state.turn, waiting: { sentence, seconds } },
});

const reading = (state, { read, total }) => ({ ...state, turn: { ...state.turn, reading: { read, total } } });

function delta(state, { part, offset, text }) {
  const { turn } = state;
  const known = turn.lengths[part];
  const length = characters(text);
  if (offset === known) {
    const lengths = { ...turn.lengths, [part]: known + length };
    return { ...state, turn: { ...turn, [part]: turn[part] + text, lengths } };
  }
  // What is already here may come twice; a gap can only be filled by a new snapshot.
  return offset + length <= known ? state : { ...state, stale: true };
}

function turnEnded(state, event) {
  const asking = state.turn?.id === event.turn ? state.turn.user_message : null;
  // What is amiss with a complete answer is said of it, not of what it answers.
  const told = event.problem && event.state !== "complete" && asking
    ? state.messages.map((message) => (message.id === asking ? { ...message, problem: event.problem } : message))
    : state.messages;
  return {
    ...state,
    turn: state.turn?.id === event.turn ? null : state.turn,
    messages: merged(told, event.message ? [...event.messages, event.message] : event.messages),
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
