/** What is typed, and what is sent but not yet stored: kept in the tab until it is stored. */

import { uuid } from "./ids.js";
import { loadItem, removeItems, storeItem } from "./storage.js";

/**
 * @import { ModelChoice } from "../types/page.js"
 * @import { Queued } from "../state/queue.js"
 * @import { PendingMessage } from "../types/state.js"
 * @import { Attachment, Choice, Quote, Tuning } from "../types/wire.js"
 */

const TAB = "sessionStorage";
// What waits for the end of an answer outlives the tab, and is shown as not sent then. Folders have names.
const QUEUES = ["queue:", "folds"];
const PREFIXES = [
  "draft:",
  "reply:",
  "files:",
  "model:",
  "history:",
  "tuning:",
  "pending:",
  "new:",
];

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

/** Of this conversation nothing is stored. */
let unkept = "";

/**
 * Stores nothing of this conversation from now on, and removes what is stored of it; "": of none.
 * @param {string} conversation
 */
export function keepNothingOf(conversation) {
  unkept = conversation;
  if (!conversation) return;
  for (const prefix of PREFIXES) storeItem(`${prefix}${conversation}`, null, TAB);
  for (const prefix of QUEUES) storeItem(`${prefix}${conversation}`, null);
}

/** @param {string} conversation */
export const keepsNothingOf = (conversation) => conversation === unkept;

/** @param {string} conversation */
export const loadDraft = (conversation) => loadItem(`draft:${conversation}`, TAB) ?? "";

/**
 * @param {string} conversation
 * @param {string} text
 */
export const storeDraft = (conversation, text) =>
  storeItem(`draft:${conversation}`, conversation === unkept ? null : text || null, TAB);

/**
 * @template Value
 * @typedef {[(conversation: string) => Value, (conversation: string, value: Value) => void]} Kept how a conversation's
 *   value is loaded and stored
 */

/** @type {Kept<Quote|null>} the message that the draft replies to */
export const [loadReply, storeReply] = keep("reply", null);

/** @type {Kept<Attachment[]>} the draft's files that the server has */
export const [loadFiles, storeFiles] = keep("files", []);

/** @type {Kept<ModelChoice|null>} the model that was chosen and that no message was sent to yet */
export const [loadModel, storeModel] = keep("model", null);

/** @type {Kept<Choice|null>} the policy and its settings that were chosen and that the server hasn't kept yet */
export const [loadChoice, storeChoice] = keep("history", null);

/** @type {Kept<Tuning|null>} the temperature and the length that were chosen and that no message was sent with yet */
export const [loadTuning, storeTuning] = keep("tuning", null);

/** @type {Kept<PendingMessage[]>} */
export const [loadPending, storePending] = keep("pending", []);

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
  storeItem(
    `queue:${conversation}`,
    list.length && conversation !== unkept ? JSON.stringify(list) : null,
  );

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
 * @param {string} name
 * @param {null|[]} nothing what stands for it where nothing is stored
 * @returns {Kept<any>}
 */
function keep(name, nothing) {
  return [
    (conversation) => {
      try {
        return JSON.parse(loadItem(`${name}:${conversation}`, TAB) ?? "null") ?? nothing;
      } catch {
        return nothing;
      }
    },
    (conversation, value) => {
      const kept = value && value.length !== 0 && conversation !== unkept;
      const stored = kept ? JSON.stringify(value) : null;
      storeItem(`${name}:${conversation}`, stored, TAB);
    },
  ];
}
