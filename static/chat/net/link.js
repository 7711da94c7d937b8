/** What a link asks for besides the chat itself: a text for the message box, and a model. Nothing here is ever sent. */

// "q" and "prompt" are the names that other chats use; both fill the box here, neither sends.
const TEXT = ["prompt", "q"];
const MODEL = "model";

/** @typedef {{text: string, model: string}} Asked "" for what the link doesn't say */

/**
 * Reads the text and the model out of the address and takes them out of it, so that a reload doesn't fill the box again
 * and no command carries them.
 * @returns {Asked}
 */
export function takeLink() {
  const url = new URL(location.href);
  const asked = readLink(url.searchParams);
  const before = url.search;
  for (const name of [...TEXT, MODEL]) url.searchParams.delete(name);
  if (url.search !== before) history.replaceState(history.state, "", url);
  return asked;
}

/**
 * @param {URLSearchParams} parameters
 * @returns {Asked}
 */
export function readLink(parameters) {
  const text = TEXT.map((name) => parameters.get(name)).find((one) => one?.trim()) ?? "";
  return { text, model: parameters.get(MODEL)?.trim() ?? "" };
}

/**
 * The link's text below a draft that is there already; once where it is there from the same link before.
 * @param {string} draft
 * @param {string} text
 */
export const joinDraft = (draft, text) => (draft.includes(text) ? draft : [draft, text].filter((one) => one.trim()).join("\n\n"));
