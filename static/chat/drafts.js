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
  if (before && before !== owner && before.startsWith("user:")) forget(["draft:", "reply:", "pending:", "new:"], TAB);
  keep("owner", owner, TAB);
}

/** @param {string} conversation */
export const readDraft = (conversation) => read(`draft:${conversation}`, TAB) ?? "";

export const keepDraft = (conversation, text) => keep(`draft:${conversation}`, text || null, TAB);

/**
 * What is being replied to.
 * @returns {import("./state.js").Quote|null}
 */
export function readReply(conversation) {
  try {
    return JSON.parse(read(`reply:${conversation}`, TAB) ?? "null");
  } catch {
    return null;
  }
}

export const keepReply = (conversation, quote) =>
  keep(`reply:${conversation}`, quote ? JSON.stringify(quote) : null, TAB);

/** @returns {import("./state.js").Pending[]} */
export function readPending(conversation) {
  try {
    return JSON.parse(read(`pending:${conversation}`, TAB) ?? "[]");
  } catch {
    return [];
  }
}

export const keepPending = (conversation, pending) =>
  keep(`pending:${conversation}`, pending.length ? JSON.stringify(pending) : null, TAB);

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
