/** What a link asks for besides the chat itself: a text for the message box, and a model. Nothing here is ever sent. */

// "q" and "prompt" are the names that other chats use; both fill the box here, neither sends.
const TEXT = ["prompt", "q"];
const MODEL = "model";

/** @typedef {{text: string, model: string, agent: string}} Asked "" for what the link doesn't say; `agent`: that isn't here */

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
  const agent = unknown ? parameters.get("agent") ?? "" : "";
  return { text, model: parameters.get(MODEL)?.trim() ?? "", agent };
}

/**
 * The link's text below a draft that is there already; once where it is there from the same link before.
 * @param {string} draft
 * @param {string} text
 */
export const joinDraft = (draft, text) => (draft.includes(text) ? draft : [draft, text].filter((one) => one.trim()).join("\n\n"));
