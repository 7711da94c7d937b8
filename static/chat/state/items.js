/** The items that the transcript shows for a state. Pure. */

import { faceOf, tellSpeakers } from "./speakers.js";
import { findVerdict } from "./state.js";
import { callView } from "./tool-calls.js";
import { say, sayCount } from "../words/say.js";

/**
 * @import { CallView } from "./tool-calls.js"
 * @import { Reading, State, Waiting } from "../types/state.js"
 * @import { Attachment, Decision, Message, Problem, Quote, Role, Verdict, Version } from "../types/wire.js"
 */

/**
 * One message as the transcript shows it. `content` is the whole text; `writing`: more of it arrives;
 * `inForce`: its instructions that are sent with every request; `offered`: those that could be;
 * `hint`: the provider is asked again; `reading`: the model still reads the prompt; `coming` names the
 * tools whose calls are being written; `idle`: the calls before this message still run; `note`: how its
 * files were put into the last request; `model` wrote it, where several models wrote the chat; `forgets`: the messages above its turn are forgotten; `first`:
 * only greetings are above it; `greets`: it is a greeting; `start`: the sequence number of its turn's
 * first message; `unloaded`: a cleanup took it out of the engine's cache; `face` stands for the agent.
 * @typedef {{key: string, id: string|null, role: Role, name: string, face: string, content: string, reasoning: string,
 *   calls: CallView[], coming: string[], hint: Waiting|null, reading: Reading|null, attachments: Attachment[],
 *   note: string, versions: Version[], edited: boolean, model: string, seq: number|null, created: string, state: string, finish: string,
 *   turn: string|null, writing: boolean, idle: boolean, waiting: boolean, problem: Problem|null,
 *   failed: boolean, pinned: boolean, excluded: boolean, bookmarked: boolean, kept: boolean, inForce: string, offered: string, background: boolean, reply: Quote|null,
 *   forgets: boolean, first: boolean, greets: boolean, start: number, unloaded: boolean}} Item
 */

/**
 * Items shown as one: a message, or an answer with the tool calls that led to it; `last`: nothing
 * follows it and nothing is on its way; `named`: its speaker isn't plain; `begins`: no answer is directly above it.
 * @typedef {{key: string, items: Item[], last: boolean, named: boolean, begins: boolean}} ItemGroup
 */

/**
 * The line under a message whose verdict differs from its place above or below the horizon.
 * `gone`: the numbers of those whose results or files gave way.
 * @typedef {{kind: "sent"|"left"|"unloaded"|"unanswered"|"gave", sentence: string, gone?: number[]}|null} ContextMark
 */

/**
 * `out`: the message is above the horizon.
 * @typedef {{out: boolean, mark: ContextMark, verdict: Verdict|null}} ContextStatus
 */

/** @type {Omit<Item, "key"|"role"|"name"|"content">} */
const PLAIN = {
  face: "",
  id: null,
  seq: null,
  created: "",
  state: "complete",
  finish: "",
  turn: null,
  writing: false,
  waiting: false,
  problem: null,
  failed: false,
  pinned: false,
  excluded: false,
  bookmarked: false,
  kept: false,
  inForce: "",
  offered: "",
  background: false,
  reply: null,
  forgets: false,
  first: false,
  greets: false,
  reasoning: "",
  calls: [],
  coming: [],
  hint: null,
  reading: null,
  attachments: [],
  note: "",
  versions: [],
  edited: false,
  model: "",
  idle: false,
  start: 0,
  unloaded: false,
};
const UNTOLD = { last: false, named: false, begins: false };
const BACKGROUND = ["scheduled", "briefing"];
/** @type {Record<string, string>} where else than in the page a message was written */
const OUTSIDE = { talk: say(", in Talk"), email: say(", by email") };
const UNANSWERED = /** @type {const} */ ("unanswered");

/**
 * The transcript's items in order, an answer's messages joined to one.
 * @param {State} state
 * @returns {ItemGroup[]}
 */
export function groupItems(state) {
  /** @type {ItemGroup[]} */
  const found = [];
  let asked = "";
  for (const item of items(state)) {
    const above = found.at(-1)?.items;
    if (above && item.role === "assistant" && !item.background && above.at(-1)?.calls.length) {
      const idle = Boolean(above.at(-1)?.calls.some((call) => call.state === "running"));
      above.push(item.writing ? { ...item, key: `${item.key}:${above.length}`, idle } : item);
      continue;
    }
    // An answer keeps its place on the page, whichever version of it is written or shown there.
    const answers = item.role === "assistant" && asked;
    found.push({ key: answers ? `answer:${asked}` : item.key, items: [item], ...UNTOLD });
    if (!item.background) asked = item.role === "user" ? (item.id ?? "") : "";
  }
  tellOnce(found);
  tellSpeakers(found, state);
  const newest = found.at(-1);
  if (newest) newest.last = !newest.items[0].background && !state.turn && !state.pending.length;
  return found;
}

/**
 * The last of the groups. Nothing before the newest question changes it, so that the text of a running answer costs no
 * more in a long chat than in a short one.
 * @param {State} state
 */
export function newestGroup(state) {
  const { messages } = state;
  const asked = messages.findLastIndex(isQuestion);
  const whole = asked <= 0 || messages.findIndex(isQuestion) === asked;
  return groupItems(
    whole ? state : { ...state, messages: messages.slice(asked), earlier: true },
  ).at(-1);
}

/**
 * Whether two groups show the same.
 * @param {ItemGroup} one
 * @param {ItemGroup} other
 */
export const sameItems = (one, other) =>
  one.key === other.key &&
  one.last === other.last &&
  one.named === other.named &&
  one.begins === other.begins &&
  one.items.length === other.items.length &&
  one.items.every((item, index) => isSame(item, other.items[index]));

/**
 * @param {Item} one
 * @param {Item} other
 */
function isSame(one, other) {
  for (const [name, value] of Object.entries(one)) {
    const found = /** @type {Record<string, unknown>} */ (other)[name];
    if (value === found) continue;
    if (!Array.isArray(value) || !Array.isArray(found) || value.length !== found.length)
      return false;
    if (value.some((part, index) => part !== found[index])) return false;
  }
  return true;
}

/**
 * Why an answer broke off is stored with its question; it is told once, under what was written of the answer.
 * @param {ItemGroup[]} groups
 */
function tellOnce(groups) {
  for (const [index, { items }] of groups.entries()) {
    const [asked] = items;
    const answer = groups[index + 1]?.items;
    const end = answer?.at(-1);
    if (
      asked.role !== "user" ||
      !asked.problem ||
      !answer ||
      end?.role !== "assistant" ||
      end.writing
    )
      continue;
    answer[answer.length - 1] = { ...end, problem: asked.problem };
    items[0] = { ...asked, problem: null };
  }
}

/**
 * @param {State} state
 * @returns {Item[]}
 */
function items(state) {
  const name = state.agent?.name ?? say("Agent");
  const rows = state.messages.length ? storedItems(state, name) : greetingItems(state, name);
  for (const pending of state.pending) {
    rows.push({
      ...PLAIN,
      key: pending.client_id,
      role: "user",
      name: say("You"),
      content: pending.text,
      created: pending.at,
      waiting: true,
      reply: pending.reply ?? null,
      attachments: pending.attachments ?? [],
    });
  }
  const { turn } = state;
  if (turn) {
    rows.push({
      ...PLAIN,
      key: `turn:${turn.id}`,
      role: "assistant",
      name,
      face: faceOf(state.agent),
      content: turn.text,
      reasoning: turn.reasoning,
      coming: turn.calling,
      hint: turn.waiting,
      reading: turn.reading,
      writing: true,
      turn: turn.id,
    });
  }
  return rows;
}

/**
 * @param {State} state
 * @param {string} name the agent's
 * @returns {Item[]}
 */
function greetingItems(state, name) {
  return (state.agent?.greeting ?? []).map((content, index) => ({
    ...PLAIN,
    key: `greeting:${index}`,
    role: /** @type {Role} */ ("assistant"),
    name,
    face: faceOf(state.agent),
    content,
  }));
}

/**
 * @param {State} state
 * @param {string} name the agent's
 * @returns {Item[]}
 */
function storedItems(state, name) {
  const shown = state.messages.filter(
    (message) =>
      (message.role === "user" || message.role === "assistant") && !isRunning(state, message),
  );
  const starts = turnStarts(shown);
  const first = shown.find((message) => message.role === "user")?.seq ?? null;
  const results = resultsOf(state.messages);
  const fileSentences = state.receipt?.files ?? [];
  const mixed = hasSeveralModels(state);
  return shown.map((message, index) => ({
    ...PLAIN,
    key: message.id,
    id: message.id,
    role: message.role,
    face: faceOf(state.agent),
    name: isBackground(message)
      ? say("Background task")
      : `${message.role === "user" ? message.speaker || say("You") : name}${OUTSIDE[message.source] ?? ""}`,
    content: message.content ?? "",
    reasoning: message.reasoning ?? "",
    calls: message.calls.map((call) =>
      callView(call, results.get(message.id)?.get(call.id) ?? null),
    ),
    attachments: message.attachments,
    note: fileSentences
      .filter((sentence) => message.attachments.some(({ name }) => sentence.includes(name)))
      .join(" "),
    versions: message.versions,
    edited: message.edited,
    seq: message.seq,
    created: message.created,
    state: message.state,
    finish: message.finish_reason,
    turn: message.role === "assistant" ? message.turn : null,
    problem: message.problem,
    failed: message.role === "user" && !isBackground(message) && isUnanswered(state, shown, index),
    pinned: message.pinned,
    excluded: message.excluded,
    bookmarked: message.bookmarked,
    kept: message.kept_whole,
    inForce: message.in_force ?? "",
    offered: message.offered ?? "",
    model: mixed ? message.model : "",
    background: isBackground(message),
    reply: message.reply ?? null,
    forgets: state.forgetAbove > 0 && starts[index] === state.forgetAbove,
    first: !state.earlier && starts[index] === first,
    greets: !state.earlier && starts[index] === 0,
    start: starts[index],
    unloaded: message.kv_status < 1,
  }));
}

/**
 * Whether other models wrote answers than the one whose name stands in the header, so that each answer needs a name.
 * @param {State} state
 */
function hasSeveralModels({ messages, decision, agent }) {
  const models = new Set(messages.map(({ model }) => model).filter(Boolean));
  const next = decision?.provider?.label ?? agent?.provider?.label;
  if (models.size && next) models.add(next);
  return models.size > 1;
}

/** @param {Message} message */
const isQuestion = (message) => message.role === "user" && !isBackground(message);

/** @param {Message} message */
const isBackground = (message) => BACKGROUND.includes(message.source);

/**
 * The results of each message's calls, by the calls' ids; these are unique only within their message.
 * @param {Message[]} messages
 */
function resultsOf(messages) {
  /** @type {Map<string, Map<string|null, Message>>} */
  const found = new Map();
  /** @type {Map<string|null, Message>} */
  let results = new Map();
  for (const message of messages) {
    if (message.role === "tool") results.set(message.call_id, message);
    else if (message.calls.length) found.set(message.id, (results = new Map()));
    else results = new Map();
  }
  return found;
}

/**
 * For every message the sequence number of the user message that began its turn; 0 before the first.
 * @param {Message[]} shown
 */
function turnStarts(shown) {
  let start = 0;
  return shown.map((message) => (start = message.role === "user" ? message.seq : start));
}

/**
 * Whether a user message has no stored answer and none is being written. A background task's message
 * answers nobody.
 * @param {State} state
 * @param {Message[]} shown
 * @param {number} index of the user message
 */
function isUnanswered(state, shown, index) {
  let after = index + 1;
  while (after < shown.length && isBackground(shown[after])) after += 1;
  const next = shown[after];
  return next ? next.role === "user" : state.turn === null;
}

/**
 * The running answer is shown from the turn, not from its last checkpoint.
 * @param {State} state
 * @param {Message} message
 */
const isRunning = (state, message) =>
  message.state === "running" && message.role === "assistant" && state.turn !== null;

/**
 * Where a message stands under a decision.
 * @param {Decision|null} decision
 * @param {Pick<Item, "seq"|"role"|"unloaded"|"greets"|"calls">} item
 * @returns {ContextStatus}
 */
export function contextStatus(decision, { seq, role, unloaded, greets, calls }) {
  if (!decision || seq === null)
    return { out: unloaded, mark: unloadedMark(role, unloaded), verdict: null };
  const above = decision.horizon !== null && seq < decision.horizon;
  // A greeting is the page's, not a part of what was said: there is nothing to explain about it.
  if (greets) return { out: above, mark: null, verdict: null };
  const verdict = findVerdict(decision, seq);
  // A message that is replied to is sent even if it was unloaded.
  if (unloaded && !verdict?.sent) return { out: true, mark: unloadedMark(role, unloaded), verdict };
  if (!verdict) return { out: above, mark: null, verdict };
  // Wherever it stands, it can be sent along with one click.
  if (verdict.reason === "unanswered") {
    const mark = role === "user" ? { kind: UNANSWERED, sentence: verdict.sentence } : null;
    return { out: true, mark, verdict };
  }
  const gone = [seq, ...calls.map((call) => call.seq)].filter((one) => gaveWay(decision, one));
  if (gone.length)
    return {
      out: false,
      mark: { kind: "gave", sentence: describeGone(role, gone), gone },
      verdict,
    };
  if (above && verdict.sent)
    return { out: false, mark: { kind: "sent", sentence: verdict.sentence }, verdict };
  if (!above && !verdict.sent)
    return { out: true, mark: { kind: "left", sentence: verdict.sentence }, verdict };
  return { out: above, mark: null, verdict };
}

/**
 * @param {Decision} decision
 * @param {number|null} seq
 * @returns {seq is number}
 */
const gaveWay = (decision, seq) =>
  seq !== null && findVerdict(decision, seq)?.reason === "gave_way";

/**
 * @param {Role} role
 * @param {unknown[]} gone
 */
const describeGone = (role, gone) =>
  role === "user"
    ? say("the texts of its files aren't sent, only their names")
    : sayCount(
        "a line is sent in place of {count} result",
        "a line is sent in place of each of {count} results",
        gone.length,
      );

/**
 * An unloaded turn is marked once, at its user message: it can be brought back there.
 * @param {Role} role
 * @param {boolean} unloaded
 * @returns {ContextMark}
 */
const unloadedMark = (role, unloaded) =>
  unloaded && role === "user" ? { kind: "unloaded", sentence: say("unloaded by a cleanup") } : null;
