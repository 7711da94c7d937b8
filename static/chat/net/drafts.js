/** What is typed, and what is sent but not yet stored: kept in the tab until it is stored. */

import { uuid } from "./ids.js";
import { loadItem, removeItems, storeItem } from "./storage.js";

/**
 * @import { ModelChoice } from "../types/page.js"
 * @import { Queued } from "../state/queue.js"
 * @import { PendingMessage } from "../types/state.js"
 * @import { Attachment, Choice, Quote } from "../types/wire.js"
 */

const TAB = "sessionStorage";
// What waits for the end of an answer outlives the tab, and is shown as not sent then.
const QUEUES = ["queue:"];
const PREFIXES = ["draft:", "reply:", "files:", "model:", "history:", "pending:", "new:"];

/**
 * Removes another account's drafts: whoever uses the tab now must neither see nor send them. A guest
 * who signs in stays the same person.
 * @param {string} owner "guest:…" or "user:…"
 */
export function claimTab(owner) {
  const before = loadItem("owner", TAB);
  if (before && before !== owner && before.startsWith("user:")) {
    removeItems(PREFIXES, TAB);
    removeItems(QUEUES, "localStorage");
  }
  storeItem("owner", owner, TAB);
}

/** @param {string} conversation */
export const loadDraft = (conversation) => loadItem(`draft:${conversation}`, TAB) ?? "";

/**
 * @param {string} conversation
 * @param {string} text
 */
export const storeDraft = (conversation, text) =>
  storeItem(`draft:${conversation}`, text || null, TAB);

/**
 * The message that the draft replies to.
 * @param {string} conversation
 * @returns {Quote|null}
 */
export const loadReply = (conversation) => loadValue(`reply:${conversation}`);

/**
 * @param {string} conversation
 * @param {Quote|null} quote
 */
export const storeReply = (conversation, quote) => storeValue(`reply:${conversation}`, quote);

/**
 * The draft's files that the server has.
 * @param {string} conversation
 * @returns {Attachment[]}
 */
export const loadFiles = (conversation) => loadValue(`files:${conversation}`) ?? [];

/**
 * @param {string} conversation
 * @param {Attachment[]} attachments
 */
export const storeFiles = (conversation, attachments) =>
  storeValue(`files:${conversation}`, attachments.length ? attachments : null);

/**
 * The model that was chosen and that no message was sent to yet.
 * @param {string} conversation
 * @returns {ModelChoice|null}
 */
export const loadModel = (conversation) => loadValue(`model:${conversation}`);

/**
 * @param {string} conversation
 * @param {ModelChoice|null} choice
 */
export const storeModel = (conversation, choice) => storeValue(`model:${conversation}`, choice);

/**
 * The policy and its settings that were chosen and that the server hasn't kept yet.
 * @param {string} conversation
 * @returns {Choice|null}
 */
export const loadChoice = (conversation) => loadValue(`history:${conversation}`);

/**
 * @param {string} conversation
 * @param {Choice|null} choice
 */
export const storeChoice = (conversation, choice) => storeValue(`history:${conversation}`, choice);

/**
 * @param {string} conversation
 * @returns {PendingMessage[]}
 */
export const loadPending = (conversation) => loadValue(`pending:${conversation}`) ?? [];

/**
 * @param {string} conversation
 * @param {PendingMessage[]} pending
 */
export const storePending = (conversation, pending) =>
  storeValue(`pending:${conversation}`, pending.length ? pending : null);

/**
 * The messages that wait for the end of an answer.
 * @param {string} conversation
 * @returns {Queued[]}
 */
export function loadQueue(conversation) {
  try {
    const found = JSON.parse(loadItem(`queue:${conversation}`) ?? "[]");
    return Array.isArray(found) ? found : [];
  } catch {
    return [];
  }
}

/**
 * @param {string} conversation
 * @param {Queued[]} list
 */
export const storeQueue = (conversation, list) =>
  storeItem(`queue:${conversation}`, list.length ? JSON.stringify(list) : null);

/**
 * The id of a chat that has not begun: the same after a reload, so that its draft is found.
 * @param {string} agent
 */
export function newConversationId(agent) {
  const known = loadItem(`new:${agent}`, TAB);
  if (known) return known;
  const id = uuid();
  storeItem(`new:${agent}`, id, TAB);
  return id;
}

/**
 * The chat has begun: the agent's next chat gets a new id.
 * @param {string} agent
 * @param {string} conversation
 */
export function releaseNewId(agent, conversation) {
  if (loadItem(`new:${agent}`, TAB) === conversation) storeItem(`new:${agent}`, null, TAB);
}

/**
 * Why the server closed the connection, for the page that is loaded instead.
 * @param {string} reason
 */
export const storeReason = (reason) => storeItem("reason", reason, TAB);

/** The reason for which this page was loaded; told once. */
export function takeReason() {
  const reason = loadItem("reason", TAB) ?? "";
  storeItem("reason", null, TAB);
  return reason;
}

/** Whether the page may reload itself: at most every ten seconds, so that it can't loop. */
export function mayReload(now = Date.now()) {
  if (now - Number(loadItem("reloaded", TAB) ?? 0) < 10_000) return false;
  storeItem("reloaded", String(now), TAB);
  return true;
}

/**
 * @param {string} key
 * @returns {any} as it was stored; null where nothing is
 */
function loadValue(key) {
  try {
    return JSON.parse(loadItem(key, TAB) ?? "null");
  } catch {
    return null;
  }
}

/**
 * @param {string} key
 * @param {unknown} stored
 */
const storeValue = (key, stored) => storeItem(key, stored ? JSON.stringify(stored) : null, TAB);
