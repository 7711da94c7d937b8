/** What a link asks for besides the chat itself: a text for the message box, and a model. Nothing here is ever sent. */

// "q" and "prompt" are the names that other chats use; both fill the box here, neither sends.
const TEXT = ["prompt", "q"];
const MODEL = "model";

// What other chats call a chat that isn't kept.
const TEMPORARY = ["temporary-chat", "temporary"];

const KNOWN = [...TEXT, MODEL, ...TEMPORARY, "agent", "debug"];
// The server names near misses of the history parameters itself, with what was probably meant.
const HISTORY = ["historypolicy", "historylength", "historytokens", "historyselector"];
// Where somebody came from: other sites and mails append these, and nobody asks for anything by them.
const TRACKING =
  /^(utm_|mtm_|pk_|piwik_|matomo_|hsa_|mc_|_hs|__hs|vero_|oly_)|^(fbclid|gclid|gclsrc|gbraid|wbraid|dclid|msclkid|yclid|twclid|ttclid|li_fat_id|igshid|igsh|mkt_tok|s_cid|ref|ref_src|source|_ga|_gl|srsltid|epik|wickedid|si)$/i;

/** @typedef {{text: string, model: string, agent: string, unknown: string[]}} Asked "" for what the link doesn't say;
 *   `agent`: that isn't here; `unknown`: the names that mean nothing here */

/**
 * Reads the text and the model out of the address and takes them out of it, so that a reload doesn't fill the box again
 * and no command carries them; and an agent that isn't here, since the page was made with another one.
 * @param {boolean} unknown whether the agent isn't here
 * @returns {Asked}
 */
export function takeLink(unknown) {
  const url = new URL(location.href);
  const asked = readLink(url.searchParams, unknown);
  const before = url.search;
  for (const name of [...TEXT, MODEL, ...(unknown ? ["agent"] : [])]) url.searchParams.delete(name);
  if (url.search !== before) history.replaceState(history.state, "", url);
  return asked;
}

/**
 * @param {URLSearchParams} parameters
 * @param {boolean} unknown
 * @returns {Asked}
 */
export function readLink(parameters, unknown) {
  const text = TEXT.map((name) => parameters.get(name)).find((one) => one?.trim()) ?? "";
  const agent = unknown ? (parameters.get("agent") ?? "") : "";
  const names = [...new Set(parameters.keys())].filter((name) => !isKnown(name));
  return { text, model: parameters.get(MODEL)?.trim() ?? "", agent, unknown: names };
}

/** @param {string} name */
const isKnown = (name) =>
  KNOWN.includes(name) ||
  TRACKING.test(name) ||
  HISTORY.includes(name.toLowerCase().replace(/[^a-z]/g, ""));

/** Whether the address asks for a temporary chat. */
export function asksTemporary() {
  const parameters = new URLSearchParams(location.search);
  return TEMPORARY.some((name) => /^(true|1)$/i.test(parameters.get(name) ?? ""));
}

/**
 * Has the address ask for a temporary chat, so that a reload does, or no longer.
 * @param {boolean} on
 */
export function askTemporary(on) {
  const url = new URL(location.href);
  for (const name of TEMPORARY) url.searchParams.delete(name);
  if (on) url.searchParams.set(TEMPORARY[0], "true");
  history.replaceState(history.state, "", url);
}

/**
 * The link's text below a draft that is there already; once where it is there from the same link before.
 * @param {string} draft
 * @param {string} text
 */
export const joinDraft = (draft, text) =>
  draft.includes(text) ? draft : [draft, text].filter((one) => one.trim()).join("\n\n");
