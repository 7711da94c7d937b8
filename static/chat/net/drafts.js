/** What is typed and what is sent but not yet stored, kept in the tab until it is. */

import { uuid } from "./ids.js";
import { forget, keep, read } from "./storage.js";

const TAB = "sessionStorage";

/**
 * What an account left in this tab is not shown to, or sent by, whoever comes after it. A guest
 * who signs in stays the same person.
 * @param {string} owner "guest:…" or "user:…"
 */
export function claimTab(owner) {
  const before = read("owner", TAB);
  if (before && before !== owner && before.startsWith("user:")) forget(["draft:", "reply:", "files:", "model:", "pending:", "new:"], TAB);
  keep("owner", owner, TAB);
}

/** @param {string} conversation */
export const readDraft = (conversation) => read(`draft:${conversation}`, TAB) ?? "";

export const keepDraft = (conversation, text) => keep(`draft:${conversation}`, text || null, TAB);

/**
 * What is being replied to.
 * @returns {import("../state/state.js").Quote|null}
 */
export const readReply = (conversation) => value(`reply:${conversation}`);

export const keepReply = (conversation, quote) => keepValue(`reply:${conversation}`, quote);

/**
 * The draft's files that the server has.
 * @returns {import("../state/state.js").Attachment[]}
 */
export const readFiles = (conversation) => value(`files:${conversation}`) ?? [];

export const keepFiles = (conversation, attachments) =>
  keepValue(`files:${conversation}`, attachments.length ? attachments : null);

/**
 * The model that was chosen and that no message has gone to yet.
 * @returns {import("../state/model-facts.js").Choice|null}
 */
export const readModel = (conversation) => value(`model:${conversation}`);

export const keepModel = (conversation, choice) => keepValue(`model:${conversation}`, choice);

/** @returns {import("../state/state.js").Pending[]} */
export const readPending = (conversation) => value(`pending:${conversation}`) ?? [];

export const keepPending = (conversation, pending) =>
  keepValue(`pending:${conversation}`, pending.length ? pending : null);

function value(key) {
  try {
    return JSON.parse(read(key, TAB) ?? "null");
  } catch {
    return null;
  }
}

const keepValue = (key, it) => keep(key, it ? JSON.stringify(it) : null, TAB);

/**
 * The id of a chat that has not begun: the same after a reload, so that its draft is found.
 * @param {string} agent
 */
export function unbegun(agent) {
  const known = read(`new:${agent}`, TAB);
  if (known) return known;
  const made = uuid();
  keep(`new:${agent}`, made, TAB);
  return made;
}

/** Whether the page may load itself anew: once in a while, so that it can't go on for ever. */
export function mayReload(now = Date.now()) {
  if (now - Number(read("reloaded", TAB) ?? 0) < 10_000) return false;
  keep("reloaded", String(now), TAB);
  return true;
}

/** The chat has begun; the agent's next one gets a new id. */
export function begun(agent, conversation) {
  if (read(`new:${agent}`, TAB) === conversation) keep(`new:${agent}`, null, TAB);
}
