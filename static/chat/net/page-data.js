/**
 * What the server told the page when it was made, and the page's own address.
 *
 * @typedef {{kind: string, label: string, note: string, tools?: boolean}} Provider
 * @typedef {{file: string, key: string, reason: string}} Broken
 * @typedef {{slug: string, name: string, description: string, greeting: string[], prompts: string[],
 *   tags: string[], tools?: string[], missing?: {name: string, reason: string}[],
 *   provider: Provider|null, broken: Broken|null}} Agent
 * @typedef {{name: string, signed_in: boolean, staff: boolean}} User
 * @typedef {{agents: Agent[], agent: string, conversation: string|null, user: User, signup: boolean,
 *   debug_panel: boolean, debug: boolean, show_request: boolean, max_frame: number,
 *   max_attachments: number, max_attachment_bytes: number,
 *   urls: Record<string, string>, static: {highlight?: Record<string, string>}}} Page
 */

export const FILES = "/files";

const URLS = {
  chat: "/chat",
  socket: "/ws",
  conversations: "/conversations",
  import: "/conversations/import",
  messages: "/messages",
  turns: "/turns",
  models: "/models",
  login: "/accounts/login/",
  logout: "/accounts/logout/",
  signup: "/accounts/signup/",
};

/** @returns {Page} */
export function readPage() {
  const page = JSON.parse(/** @type {string} */ (document.getElementById("page")?.textContent));
  return { ...page, urls: { ...URLS, ...page.urls }, static: page.static ?? {} };
}

/** Where a file of this person lies. */
export const fileAddress = (id) => `${FILES}/${encodeURIComponent(id)}`;

/** The query string as the server wants it with every command. */
export const query = () => location.search.slice(1);

/** History parameters belong to the page they were chosen on, so links to others leave them out. */
const HISTORY = ["historyPolicy", "historyLength", "historyTokens", "historySelector"];

/**
 * Says parameters in the page's own address; null takes one out.
 * @param {Record<string, string|null>} changes
 */
export function rewrite(changes) {
  const url = new URL(location.href);
  for (const [name, value] of Object.entries(changes)) {
    if (value === null) url.searchParams.delete(name);
    else url.searchParams.set(name, value);
  }
  history.replaceState(history.state, "", url);
}

/** Takes every history parameter out, so that the next source decides. */
export const withoutHistory = () => rewrite(Object.fromEntries(HISTORY.map((name) => [name, null])));

export const saysHistory = () => {
  const said = new URLSearchParams(location.search);
  return HISTORY.some((name) => said.has(name));
};

/**
 * The address of a conversation, or of a new chat with an agent; debug=true stays.
 * @param {Page} page
 * @param {{conversation?: string|null, agent?: string|null, said?: string}} target
 */
export function address(page, { conversation = null, agent = null, said = "" }) {
  const parameters = new URLSearchParams(said);
  if (!conversation && agent) parameters.set("agent", agent);
  if (new URLSearchParams(location.search).get("debug") === "true") parameters.set("debug", "true");
  const tail = parameters.toString();
  return `${page.urls.chat}${conversation ? `/${conversation}` : ""}${tail ? `?${tail}` : ""}`;
}

/** A chat that has begun gets its own address; the rest of the query stays, the agent goes. */
export function claimAddress(page, conversation) {
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
 */
export function readAddress(page) {
  const rest = location.pathname.slice(page.urls.chat.length + 1);
  const agent = new URLSearchParams(location.search).get("agent") ?? page.agent;
  return { conversation: rest || null, agent };
}
