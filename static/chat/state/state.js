/**
 * What the page knows of the open conversation, and the changes the page makes itself.
 * Every function takes a state and returns a new one.
 *
 * @typedef {{id: string, agent: string, title: string, created: string, updated: string}} Conversation
 * @typedef {{id: string, seq: number, role: string, content: string|null, reasoning: string|null, source: string,
 *   state: string, created: string, turn: string|null, finish_reason: string, pinned: boolean, excluded: boolean,
 *   reply: Quote|null, problem: Problem|null, calls: Call[], call_id: string|null, attachments: Attachment[],
 *   versions: string[], kv_status: number}} Message `kv_status`: 1, or 0 and -1 where a cleanup unloaded it
 * @typedef {{id: string, name: string, arguments: Record<string, any>}} Call a tool that a model asked for
 * @typedef {{id: string, seq: number, role: string, text: string}} Quote what a message replies to
 * @typedef {{code: string, message: string}} Problem
 * @typedef {{id: string, user_message: string, text: string, reasoning: string, calling: string[],
 *   waiting: Waiting|null, reading: Reading|null, lengths: {text: number, reasoning: number}}} Turn of the message
 *   being written; `lengths` are in characters as the server counts them, not in UTF-16 units
 * @typedef {{read: number, total: number}} Reading how much of a long prompt the model has read, in tokens
 * @typedef {{sentence: string, seconds: number}} Waiting the provider is asked again; 0 seconds: not known when
 * @typedef {{id: string, name: string, size: number, modality: string, mime_type: string|null,
 *   width: number, height: number, characters: number, note?: string}} Attachment a file that the server has;
 *   `size` in bytes; `note` says what could not be read of it
 * @typedef {{text: string, reply: Quote|null, attachments: Attachment[]}} Said what a person sends
 * @typedef {Said & {client_id: string, ref: string, model: string|null, after: number, at: string}} Pending
 *   a message that is drawn but not yet stored; `after` is the last sequence number when it was sent
 * @typedef {{first: number, last: number, messages: number, role: string|null, sent: boolean,
 *   reason: string, sentence: string, tokens: number, basis: string}} Verdict
 * @typedef {Record<string, any>} Decision the shape of `Decision.to_dict`
 * @typedef {{state: string, sentence: string, progress: number|null}} Engine
 * @typedef {{on: boolean, version: number, messages: number, by: string, last: number}} Summary version 0: none
 * @typedef {{conversationId: string, agentSlug: string, opened: boolean, conversation: Conversation|null,
 *   agent: import("../net/page-data.js").Agent|null, messages: Message[], earlier: boolean, turn: Turn|null,
 *   receipt: Decision|null, decision: Decision|null, problem: Problem|null, asked: string|null,
 *   engine: Engine|null, pending: Pending[],
 *   forgetAbove: number, summary: Summary, refusal: (Problem & {ref: string, said: Said|null})|null, ended: {turn: string, state: string}|null,
 *   stale: boolean, deleted: boolean, cacheVersion: number}} State `cacheVersion` counts the changes of the
 *   engine's cache that this page was told of
 */

/**
 * @param {string} conversationId
 * @param {string} agentSlug
 * @param {import("../net/page-data.js").Agent|null} agent
 * @returns {State}
 */
export function initial(conversationId, agentSlug, agent) {
  return {
    conversationId, agentSlug, agent, opened: false, conversation: null, messages: [], earlier: false,
    turn: null, receipt: null, decision: null, problem: null, asked: null, engine: null, pending: [],
    forgetAbove: 0, summary: noSummary(true), refusal: null, ended: null, stale: false, deleted: false, cacheVersion: 0,
  };
}

/** @returns {Summary} */
export const noSummary = (/** @type {boolean} */ on) => ({ on, version: 0, messages: 0, by: "", last: 0 });

/**
 * A turn that writes a message which begins with these texts.
 * @param {{id: string, user_message: string, text: string, reasoning: string}} begun
 * @returns {Turn}
 */
export function writing({ id, user_message, text, reasoning }) {
  const lengths = { text: characters(text), reasoning: characters(reasoning) };
  return { id, user_message, text, reasoning, calling: [], waiting: null, reading: null, lengths };
}

/** Characters as the server counts them: code points, where JavaScript counts UTF-16 units. */
export function characters(text) {
  let count = 0;
  for (const _ of text) count += 1;
  return count;
}

/** @param {State} state */
export const lastSeq = (state) => state.messages.at(-1)?.seq ?? 0;

/**
 * A message was drawn and sent; the server's own will replace it.
 * @param {State} state
 * @param {Pending} pending
 * @returns {State}
 */
export function drawn(state, pending) {
  return { ...state, pending: [...state.pending, pending], refusal: null };
}

/** A message that will not be sent after all. */
export function withdrawn(state, clientId) {
  return { ...state, pending: state.pending.filter((one) => one.client_id !== clientId) };
}

/** Which preview is awaited; an answer to an older question changes nothing. */
export const asked = (state, ref) => ({ ...state, asked: ref });

/**
 * Older messages arrived above.
 * @param {State} state
 * @param {Message[]} messages
 * @param {boolean} earlier
 * @returns {State}
 */
export function withEarlier(state, messages, earlier) {
  return { ...state, messages: merged(messages, state.messages), earlier };
}

/** The connection was lost; what follows comes with the next snapshot. */
export const disconnected = (state) => ({ ...state, opened: false, stale: false });

/**
 * Both lists as one, by sequence number; of one id the later list's message counts.
 * @param {Message[]} some
 * @param {Message[]} others
 */
export function merged(some, others) {
  const byId = new Map([...some, ...others].map((message) => [message.id, message]));
  return [...byId.values()].sort((a, b) => a.seq - b.seq);
}

/**
 * The verdict on the message with this sequence number: the narrowest run around it, since marked
 * turns lie inside the run of what wasn't loaded.
 * @param {Decision|null} decision
 * @param {number} seq
 * @returns {Verdict|null}
 */
export function verdictOf(decision, seq) {
  if (!decision) return null;
  const around = decision.verdicts.filter((one) => one.first > 0 && one.first <= seq && seq <= one.last);
  return around.sort((a, b) => a.last - a.first - (b.last - b.first))[0] ?? null;
}
