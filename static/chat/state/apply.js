/** The page's one function for events from the server. */

import { beginWriting, countCharacters, mergeMessages, noSummary } from "./state.js";

/**
 * @import { RunningTurn, State } from "../types/state.js"
 * @import {
 *   CacheChangedEvent, CallEndedEvent, CallingEvent, CallsStartedEvent, DecidedEvent, DeltaEvent, EngineReply,
 *   MarkedEvent, Message, MessagesChangedEvent, ReadingEvent, RefusedReply, ServerEvent, SnapshotEvent, TurnEndedEvent, TurnEvent,
 *   TurnStartedEvent, TurnView, WaitingEvent,
 * } from "../types/wire.js"
 */

/**
 * Gives the state after an event. Pure: a snapshot and the events after it give the same state as
 * a fresh snapshot.
 * @param {State} state
 * @param {ServerEvent} event
 * @returns {State}
 */
export function apply(state, event) {
  switch (event.type) {
    case "snapshot":
      return event.conversation_id === state.conversationId ? snapshot(state, event) : state;
    case "turn_started":
      return event.conversation.id === state.conversationId && state.opened
        ? turnStarted(state, event)
        : state;
    case "decided":
      return duringTurn(state, event, decided);
    case "delta":
      return duringTurn(state, event, delta);
    case "calling":
      return duringTurn(state, event, calling);
    case "calls_started":
      return duringTurn(state, event, callsStarted);
    case "call_ended":
      return duringTurn(state, event, callEnded);
    case "waiting":
      return duringTurn(state, event, waiting);
    case "reading":
      return duringTurn(state, event, reading);
    case "turn_ended":
      return state.opened ? turnEnded(state, event) : state;
    case "renamed":
      if (!state.opened || !state.conversation) return state;
      return { ...state, conversation: { ...state.conversation, title: event.title } };
    case "kept":
      if (!state.opened || !state.conversation) return state;
      return { ...state, conversation: { ...state.conversation, temporary: false } };
    case "history_chosen":
      if (!state.opened || !state.conversation) return state;
      return { ...state, conversation: { ...state.conversation, history: event.history } };
    case "marked":
      return state.opened ? marked(state, event) : state;
    case "summary_changed":
      return state.opened ? { ...state, summary: event.summary } : state;
    case "cache_changed":
      return state.opened ? cacheChanged(state, event) : state;
    case "messages_changed":
      return state.opened ? messagesChanged(state, event) : state;
    case "path_changed":
      return state.opened
        ? { ...state, stale: true, sure: Math.min(state.sure, event.below) }
        : state;
    case "cleared":
      if (!state.opened) return state;
      return {
        ...state,
        messages: [],
        earlier: false,
        turn: null,
        receipt: null,
        decision: null,
        forgetAbove: 0,
        summary: noSummary(state.summary.on),
      };
    case "deleted":
      return state.opened ? { ...state, deleted: true, turn: null } : state;
    case "refused":
      return refused(state, event);
    case "preview":
      if (event.ref !== state.previewRef) return state;
      return {
        ...state,
        decision: event.decision ?? event.too_large ?? state.decision,
        problem: event.problem,
      };
    case "engine":
      return engine(state, event);
    default:
      return state;
  }
}

/**
 * The provider that answers now: where a model can't answer, another one is named in its place.
 * @param {State} state
 * @param {EngineReply} event
 * @returns {State}
 */
function engine(state, event) {
  const known = { state: event.state, sentence: event.sentence, progress: event.progress };
  return {
    ...state,
    engine: known,
    agent: state.agent && { ...state.agent, provider: event.provider },
  };
}

/**
 * @param {State} state
 * @param {SnapshotEvent} event
 * @returns {State}
 */
function snapshot(state, event) {
  const first = event.messages[0];
  // Older messages that were loaded before are kept while they still lead up to the newest ones.
  const known = state.messages.filter(({ seq }) => seq <= state.sure);
  const joins = Boolean(first && known.some(({ id }) => id === first.id));
  const older = joins ? known.filter((message) => message.seq < first.seq) : [];
  return {
    ...state,
    opened: true,
    stale: false,
    sure: Infinity,
    deleted: false,
    conversation: event.conversation,
    agent: event.agent,
    agentSlug: event.agent?.slug ?? state.agentSlug,
    messages: [...older, ...event.messages],
    earlier: older.length ? state.earlier : event.earlier,
    room: event.room ?? "",
    turn: event.turn && runningTurn(event.turn),
    receipt: event.receipt ?? (joins ? state.receipt : null),
    engine: event.engine,
    forgetAbove: event.forget_above,
    summary: event.summary,
  };
}

/**
 * @param {TurnView} turn
 * @returns {RunningTurn}
 */
function runningTurn(turn) {
  const waiting = turn.waiting ? { sentence: turn.waiting, seconds: 0 } : null;
  const [read, total] = turn.reading;
  return {
    ...beginWriting(turn),
    calling: turn.calling,
    waiting,
    reading: total ? { read, total } : null,
  };
}

/**
 * @param {State} state
 * @param {MarkedEvent} event
 * @returns {State}
 */
function marked(state, event) {
  const { message: id, forget_above: forgetAbove, state: writing } = event;
  const { pinned, excluded, bookmarked, kept_whole, in_force, offered } = event;
  const marks = { pinned, excluded, bookmarked, kept_whole, in_force, offered };
  const messages = state.messages.map((one) =>
    one.id === id ? { ...one, ...marks, state: writing } : one,
  );
  return { ...state, messages, forgetAbove };
}

/**
 * Messages above those that are loaded come with them, when they are asked for.
 * @param {State} state
 * @param {MessagesChangedEvent} event
 * @returns {State}
 */
function messagesChanged(state, event) {
  const first = state.earlier ? (state.messages[0]?.seq ?? Infinity) : 0;
  const news = event.messages.filter(({ seq }) => seq >= first);
  const kept = state.messages.filter(({ id }) => !event.gone.includes(id));
  return { ...state, messages: mergeMessages(kept, news), forgetAbove: event.forget_above };
}

/**
 * Messages that a cleanup took out or gave back; the panel's cache section loads again.
 * @param {State} state
 * @param {CacheChangedEvent} event
 * @returns {State}
 */
function cacheChanged(state, { status }) {
  /** @param {Message} message */
  const isNews = ({ id, kv_status: known }) => id in status && status[id] !== known;
  const messages = state.messages.some(isNews)
    ? state.messages.map((one) => (isNews(one) ? { ...one, kv_status: status[one.id] } : one))
    : state.messages;
  return { ...state, messages, cacheVersion: state.cacheVersion + 1 };
}

/**
 * @param {State} state
 * @param {TurnStartedEvent} event
 * @returns {State}
 */
function turnStarted(state, event) {
  // The snapshot already said whether a turn that was started before still runs.
  const known = event.resent || state.turn?.id === event.turn;
  const kept =
    known || !event.gone_from
      ? state.messages
      : state.messages.filter(({ seq }) => seq < event.gone_from);
  const messages = mergeMessages(kept, event.messages);
  /** @param {Message} message */
  const isUser = (message) => message.role === "user";
  const asking = event.messages.findLast(isUser) ?? messages.findLast(isUser);
  return {
    ...state,
    conversation: event.conversation,
    messages,
    pending: state.pending.filter((one) => one.client_id !== event.client_id),
    turn: known
      ? state.turn
      : beginWriting({ ...event, id: event.turn, user_message: asking?.id ?? "" }),
  };
}

/**
 * Applies an event of the running turn; after any event the turn no longer waits or reads.
 * @template {TurnEvent} E
 * @param {State} state
 * @param {E} event
 * @param {(state: State, turn: RunningTurn, event: E) => State} change
 * @returns {State}
 */
function duringTurn(state, event, change) {
  const { turn } = state;
  if (turn?.id !== event.turn) return state;
  if (!turn.waiting && !turn.reading) return change(state, turn, event);
  const active = { ...turn, waiting: null, reading: null };
  return change({ ...state, turn: active }, active, event);
}

/** @type {(state: State, turn: RunningTurn, event: DecidedEvent) => State} */
const decided = (state, _, { receipt }) => ({ ...state, receipt });

/** @type {(state: State, turn: RunningTurn, event: CallingEvent) => State} */
const calling = (state, turn, { name }) => ({
  ...state,
  turn: { ...turn, calling: [...turn.calling, name] },
});

/**
 * From here on the turn writes a new message.
 * @type {(state: State, turn: RunningTurn, event: CallsStartedEvent) => State}
 */
const callsStarted = (state, turn, { messages }) => ({
  ...state,
  messages: mergeMessages(state.messages, messages),
  turn: beginWriting({ ...turn, text: "", reasoning: "" }),
});

/** @type {(state: State, turn: RunningTurn, event: CallEndedEvent) => State} */
const callEnded = (state, _, { message }) => ({
  ...state,
  messages: mergeMessages(state.messages, [message]),
});

/** @type {(state: State, turn: RunningTurn, event: WaitingEvent) => State} */
const waiting = (state, turn, { sentence, seconds }) => ({
  ...state,
  turn: { ...turn, waiting: { sentence, seconds } },
});

/** @type {(state: State, turn: RunningTurn, event: ReadingEvent) => State} */
const reading = (state, turn, { read, total }) => ({
  ...state,
  turn: { ...turn, reading: { read, total } },
});

/** @type {(state: State, turn: RunningTurn, event: DeltaEvent) => State} */
function delta(state, turn, { part, offset, text }) {
  const known = turn.lengths[part];
  const length = countCharacters(text);
  if (offset === known) {
    const lengths = { ...turn.lengths, [part]: known + length };
    return { ...state, turn: { ...turn, [part]: turn[part] + text, lengths } };
  }
  // Text that is already here may arrive twice; only a new snapshot can fill a gap.
  return offset + length <= known ? state : { ...state, stale: true };
}

/**
 * @param {State} state
 * @param {TurnEndedEvent} event
 * @returns {State}
 */
function turnEnded(state, event) {
  const asking = state.turn?.id === event.turn ? state.turn.user_message : null;
  const merged = mergeMessages(
    state.messages,
    event.message ? [...event.messages, event.message] : event.messages,
  );
  // The problem of a complete answer belongs to the answer, not to the message it answers. Stored it lacks its seconds.
  const messages =
    event.problem && event.state !== "complete" && asking
      ? merged.map((message) =>
          message.id === asking ? { ...message, problem: event.problem } : message,
        )
      : merged;
  // What was reported adds to the decision; only a new snapshot has one that didn't arrive here.
  const known = state.receipt?.turn === event.turn ? state.receipt : null;
  return {
    ...state,
    turn: state.turn?.id === event.turn ? null : state.turn,
    messages,
    receipt: event.reported && known ? { ...known, ...event.reported } : state.receipt,
    stale: state.stale || Boolean(event.reported && !known),
    ended: { turn: event.turn, state: event.state, problem: event.problem },
  };
}

/**
 * @param {State} state
 * @param {RefusedReply} event
 * @returns {State}
 */
function refused(state, event) {
  const problem = { code: event.code, message: event.message };
  if (event.ref === state.previewRef) return { ...state, problem };
  const draft = state.pending.find((one) => one.ref === event.ref) ?? null;
  return {
    ...state,
    pending: state.pending.filter((one) => one !== draft),
    refusal: { ...problem, ref: event.ref, draft, costs: event.costs ?? null },
  };
}

/**
 * Whether an event may change what the next message is sent with, so that the page needs a new preview.
 * @param {ServerEvent} event
 * @param {State} state
 * @param {State} before
 */
export function needsPreview(event, state, before) {
  // A model that is ready counts tokens itself; before, they were estimated.
  const ready = state.engine?.state === "ready" && before.engine?.state === "loading";
  const moved = event.type === "cache_changed" && Object.keys(event.status).length > 0;
  return (
    ready ||
    moved ||
    [
      "turn_ended",
      "cleared",
      "marked",
      "messages_changed",
      "summary_changed",
      "history_chosen",
    ].includes(event.type)
  );
}
