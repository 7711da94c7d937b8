/** Which rows the transcript shows for a state. Pure. */

import { callView } from "../message/tool-calls.js";
import { verdictOf } from "./state.js";

/**
 * What is shown of one message. `content` is all of the text; `writing` while more comes, which `hint` may
 * delay, as `reading` the prompt does; `coming` names the tools whose calls are being written; `idle` while the calls before it run.
 * `note` says how its files were put into the last request.
 * `forgets`: what is above its turn is forgotten; `first`: nothing but greetings is above it.
 * `start` is the number of its turn's first message; `unloaded`: a cleanup took it out.
 * @typedef {{key: string, id: string|null, role: string, name: string, content: string, reasoning: string,
 *   calls: import("../message/tool-calls.js").CallView[], coming: string[], hint: import("./state.js").Waiting|null,
 *   reading: import("./state.js").Reading|null,
 *   attachments: import("./state.js").Attachment[], note: string, versions: string[], seq: number|null,
 *   created: string, state: string, finish: string, turn: string|null, writing: boolean, idle: boolean, waiting: boolean,
 *   problem: import("./state.js").Problem|null, failed: boolean, pinned: boolean, excluded: boolean,
 *   background: boolean, reply: import("./state.js").Quote|null, forgets: boolean, first: boolean,
 *   greets: boolean, start: number, unloaded: boolean}} Item
 * @typedef {{key: string, items: Item[], last: boolean}} Flow what is shown as one: a message, or an answer with
 *   the tool calls that led to it; `last`: nothing came after it and nothing is on its way
 * @typedef {{kind: "sent"|"left"|"unloaded", sentence: string}|null} Mark
 */

const PLAIN = { id: null, seq: null, created: "", state: "complete", finish: "", turn: null, writing: false,
  waiting: false, problem: null, failed: false, pinned: false, excluded: false, background: false, reply: null,
  forgets: false, first: false, greets: false, reasoning: "", calls: [], coming: [], hint: null, reading: null, attachments: [],
  note: "", versions: [], idle: false, start: 0, unloaded: false };
const BACKGROUND = ["scheduled", "briefing"];

/**
 * @param {import("./state.js").State} state
 * @returns {Flow[]}
 */
export function flows(state) {
  /** @type {Flow[]} */
  const found = [];
  let asked = "";
  for (const item of items(state)) {
    const above = found.at(-1)?.items;
    if (above && item.role === "assistant" && !item.background && above.at(-1)?.calls.length) {
      const idle = above.at(-1)?.calls.some((call) => call.state === "running");
      above.push(item.writing ? { ...item, key: `${item.key}:${above.length}`, idle } : item);
      continue;
    }
    // An answer keeps its place on the page, whichever version of it is written or shown there.
    const answers = item.role === "assistant" && asked;
    found.push({ key: answers ? `answer:${asked}` : item.key, items: [item], last: false });
    if (!item.background) asked = item.role === "user" ? item.id ?? "" : "";
  }
  const newest = found.at(-1);
  if (newest) newest.last = !newest.items[0].background && !state.turn && !state.pending.length;
  return found;
}

/**
 * @param {import("./state.js").State} state
 * @returns {Item[]}
 */
function items(state) {
  const name = state.agent?.name ?? "Agent";
  const rows = state.messages.length ? stored(state, name) : greeting(state, name);
  for (const pending of state.pending) {
    rows.push({
      ...PLAIN, key: pending.client_id, role: "user", name: "You", content: pending.text, created: pending.at,
      waiting: true, reply: pending.reply ?? null, attachments: pending.attachments ?? [],
    });
  }
  const { turn } = state;
  if (turn) {
    rows.push({
      ...PLAIN, key: `turn:${turn.id}`, role: "assistant", name, content: turn.text, reasoning: turn.reasoning,
      coming: turn.calling, hint: turn.waiting, reading: turn.reading, writing: true, turn: turn.id,
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
  const starts = turnStarts(shown);
  const first = shown.find((message) => message.role === "user")?.seq ?? null;
  const results = resultsOf(state.messages);
  const told = state.receipt?.files ?? [];
  return shown.map((message, index) => ({
    ...PLAIN,
    key: message.id,
    id: message.id,
    role: message.role,
    name: isBackground(message) ? "Background task" : message.role === "user" ? "You" : name,
    content: message.content ?? "",
    reasoning: message.reasoning ?? "",
    calls: message.calls.map((call) => callView(call, results.get(message.id)?.get(call.id) ?? null)),
    attachments: message.attachments,
    note: told.filter((sentence) => message.attachments.some(({ name }) => sentence.includes(name))).join(" "),
    versions: message.versions,
    seq: message.seq,
    created: message.created,
    state: message.state,
    finish: message.finish_reason,
    turn: message.role === "assistant" ? message.turn : null,
    problem: message.problem,
    failed: message.role === "user" && !isBackground(message) && isUnanswered(state, shown, index),
    pinned: message.pinned,
    excluded: message.excluded,
    background: isBackground(message),
    reply: message.reply ?? null,
    forgets: state.forgetAbove > 0 && starts[index] === state.forgetAbove,
    first: !state.earlier && starts[index] === first,
    greets: !state.earlier && starts[index] === 0,
    start: starts[index],
    unloaded: message.kv_status < 1,
  }));
}

const isBackground = (message) => BACKGROUND.includes(message.source);

/**
 * The results of each message's calls, by the calls' ids; these are unique only within their message.
 * @param {import("./state.js").Message[]} messages
 * @returns {Map<string, Map<string|null, import("./state.js").Message>>}
 */
function resultsOf(messages) {
  const found = new Map();
  let results = new Map();
  for (const message of messages) {
    if (message.role === "tool") results.set(message.call_id, message);
    else if (message.calls.length) found.set(message.id, (results = new Map()));
    else results = new Map();
  }
  return found;
}

/** For every message the number of the user message whose turn it belongs to. */
function turnStarts(shown) {
  let start = 0;
  return shown.map((message) => (start = message.role === "user" ? message.seq : start));
}

/** Nothing was stored as its answer and nothing is being written: whatever went wrong, it can be said.
 * A background task's note is nobody's answer. */
function isUnanswered(state, shown, index) {
  const next = shown.slice(index + 1).find((message) => !isBackground(message));
  return next ? next.role === "user" : state.turn === null;
}

/** The running answer is shown from the turn, not from what was last saved of it. */
const isRunning = (state, message) => message.state === "running" && message.role === "assistant"
  && state.turn !== null;

/**
 * Whether a message is above the line, the mark it carries where its own verdict differs, and the verdict.
 * @param {import("./state.js").Decision|null} decision
 * @param {Item} item
 * @returns {{out: boolean, mark: Mark, verdict: import("./state.js").Verdict|null}}
 */
export function standing(decision, { seq, role, unloaded }) {
  if (!decision || seq === null) return { out: unloaded, mark: unloadedMark(role, unloaded), verdict: null };
  const above = decision.horizon !== null && seq < decision.horizon;
  const verdict = verdictOf(decision, seq);
  // What is replied to is sent even so.
  if (unloaded && !verdict?.sent) return { out: true, mark: unloadedMark(role, unloaded), verdict };
  if (!verdict) return { out: above, mark: null, verdict };
  if (above && verdict.sent) return { out: false, mark: { kind: "sent", sentence: verdict.sentence }, verdict };
  if (!above && !verdict.sent) return { out: true, mark: { kind: "left", sentence: verdict.sentence }, verdict };
  return { out: above, mark: null, verdict };
}

/**
 * Said once of a turn, wherever it stands: it can be brought back.
 * @returns {Mark}
 */
const unloadedMark = (role, unloaded) =>
  (unloaded && role === "user" ? { kind: "unloaded", sentence: "unloaded by a cleanup" } : null);
