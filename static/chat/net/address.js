/** The page's own address: which chat it names, its parameters, and the addresses of other chats. */

/**
 * @import { Page } from "../types/page.js"
 * @import { Choice } from "../types/wire.js"
 */

export const FILES = "/files";

/**
 * The address of an uploaded file.
 * @param {string} id
 */
export const fileAddress = (id) => `${FILES}/${encodeURIComponent(id)}`;

/** The query string as the server wants it with every command. */
export const queryString = () => location.search.slice(1);

/** History parameters belong to the page whose link had them, so links to others leave them out. */
const historyNames = () =>
  [...new URLSearchParams(location.search).keys()].filter((name) => name.startsWith("history"));

/**
 * Shows in the page's own address whether the debug panel is open.
 * @param {boolean} open
 */
export function setDebug(open) {
  const url = new URL(location.href);
  if (open) url.searchParams.set("debug", "true");
  else url.searchParams.delete("debug");
  history.replaceState(history.state, "", url);
}

/**
 * The page's own address with these history parameters in place of its own.
 * @param {Choice} parameters
 */
export function linkWith(parameters) {
  const url = new URL(location.href);
  for (const name of historyNames()) url.searchParams.delete(name);
  for (const [name, value] of Object.entries(parameters)) url.searchParams.set(name, value);
  return url.href;
}

/** Removes every history parameter, so that the next source decides. */
export const clearHistoryParameters = () => history.replaceState(history.state, "", linkWith({}));

export const hasHistoryParameters = () => historyNames().length > 0;

/**
 * The address of a conversation, or of a new chat with an agent; debug=true is kept.
 * @param {Page} page
 * @param {{conversation?: string|null, agent?: string|null}} target
 */
export function chatAddress(page, { conversation = null, agent = null }) {
  const parameters = new URLSearchParams();
  if (!conversation && agent) parameters.set("agent", agent);
  if (new URLSearchParams(location.search).get("debug") === "true") parameters.set("debug", "true");
  const tail = parameters.toString();
  return `${page.urls.chat}${conversation ? `/${conversation}` : ""}${tail ? `?${tail}` : ""}`;
}

/**
 * The address of a message in its conversation.
 * @param {Page} page
 * @param {string} conversation
 * @param {number} seq
 */
export const messageAddress = (page, conversation, seq) =>
  `${chatAddress(page, { conversation })}#message-${seq}`;

/** The message that the page's own address names, by its seq. */
export function namedMessage() {
  const seq = location.hash.match(/^#message-(\d{1,9})$/)?.[1];
  return seq === undefined ? null : Number(seq);
}

/** The answer whose receipt the page's own address names, by its turn; mails link to it. */
export const namedReceipt = () => location.hash.match(/^#receipt-([0-9a-f-]{36})$/)?.[1] ?? null;

/**
 * Gives a chat that has begun its own address; the rest of the query is kept, the agent is removed.
 * @param {Page} page
 * @param {string} conversation
 */
export function useConversationAddress(page, conversation) {
  const path = `${page.urls.chat}/${conversation}`;
  if (location.pathname === path) return;
  const url = new URL(location.href);
  url.pathname = path;
  for (const name of ["agent", "temporary-chat", "temporary"]) url.searchParams.delete(name);
  history.replaceState(history.state, "", url);
}

/**
 * Which chat the address names.
 * @param {Page} page
 * @returns {{conversation: string|null, agent: string}} no conversation: a new chat with the agent
 */
export function readAddress(page) {
  const rest = location.pathname.slice(page.urls.chat.length + 1);
  const agent = new URLSearchParams(location.search).get("agent") ?? page.agent;
  return { conversation: rest || null, agent };
}
