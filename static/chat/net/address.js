/** The page's own address: which chat it names, its parameters, and the addresses of other chats. */

/**
 * @import { Page } from "../types/page.js"
 * @import { AddressChanges } from "../types/wire.js"
 */

export const FILES = "/files";

/**
 * The address of an uploaded file.
 * @param {string} id
 */
export const fileAddress = (id) => `${FILES}/${encodeURIComponent(id)}`;

/** The query string as the server wants it with every command. */
export const queryString = () => location.search.slice(1);

/** History parameters belong to the page they were chosen on, so links to others leave them out. */
const HISTORY = ["historyPolicy", "historyLength", "historyTokens", "historySelector"];

/**
 * Changes parameters of the page's own address.
 * @param {AddressChanges} changes
 */
export function setParameters(changes) {
  const url = new URL(location.href);
  for (const [name, value] of Object.entries(changes)) {
    if (value === null) url.searchParams.delete(name);
    else url.searchParams.set(name, value);
  }
  history.replaceState(history.state, "", url);
}

/** Removes every history parameter, so that the next source decides. */
export const clearHistoryParameters = () => setParameters(Object.fromEntries(HISTORY.map((name) => [name, null])));

export const hasHistoryParameters = () => {
  const parameters = new URLSearchParams(location.search);
  return HISTORY.some((name) => parameters.has(name));
};

/**
 * The address of a conversation, or of a new chat with an agent; debug=true is kept.
 * @param {Page} page
 * @param {{conversation?: string|null, agent?: string|null, parameters?: string}} target `parameters`: the rest of
 *   the query string
 */
export function chatAddress(page, { conversation = null, agent = null, parameters: rest = "" }) {
  const parameters = new URLSearchParams(rest);
  if (!conversation && agent) parameters.set("agent", agent);
  if (new URLSearchParams(location.search).get("debug") === "true") parameters.set("debug", "true");
  const tail = parameters.toString();
  return `${page.urls.chat}${conversation ? `/${conversation}` : ""}${tail ? `?${tail}` : ""}`;
}

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
  url.searchParams.delete("agent");
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
