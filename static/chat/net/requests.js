/** Requests about single messages and turns; what they change arrives as events over the socket. */

import { queryString } from "./address.js";
import { getJson, sendChange } from "./http.js";

/**
 * @import { DraftFields } from "./session.js"
 * @import { Page } from "../types/page.js"
 * @import { Explanation, SearchPage } from "../types/wire.js"
 */

// In characters: a longer draft doesn't fit an address.
const LONGEST_DRAFT = 1_500;

/**
 * Takes turns that a cleanup unloaded back in, in every page of the conversation.
 * @param {Page} page
 * @param {string} conversation
 * @param {number[]|null} turns the sequence numbers of their first messages; null: all of them
 * @returns {Promise<{turns: number[]}>} those that are back
 */
export function bringBackTurns(page, conversation, turns) {
  const path = `${page.urls.conversations}/${conversation}/cache/bring_back`;
  return sendChange("POST", path, turns ? { turns } : {});
}

/**
 * Searches titles and messages; the days of filters are those of this machine.
 * @param {Page} page
 * @param {string} text
 * @param {{before?: number|null, signal?: AbortSignal}} [more] `before` is a page's `more`
 * @returns {Promise<SearchPage>}
 */
export function searchChats(page, text, { before = null, signal } = {}) {
  const zone = Intl.DateTimeFormat().resolvedOptions().timeZone ?? "";
  const query = new URLSearchParams({ q: text, zone });
  if (before !== null) query.set("before", String(before));
  return getJson(`${page.urls.search}?${query}`, signal);
}

/**
 * Lets results and texts of files never give way, or again, in every page of the conversation.
 * @param {Page} page
 * @param {string} conversation
 * @param {number[]} messages their sequence numbers
 * @param {boolean} on
 * @returns {Promise<{messages: number}>}
 */
export const keepWhole = (page, conversation, messages, on) =>
  sendChange("POST", `${page.urls.conversations}/${conversation}/kept_whole`, { messages, on });

/**
 * Asks why a message is or isn't sent with the present draft.
 * @param {Page} page
 * @param {string} message
 * @param {DraftFields} fields
 * @returns {Promise<Explanation>}
 */
export function explain(page, message, { draft, reply_to: replied, attachments, model }) {
  const parameters = new URLSearchParams({ query: queryString(), reply_to: replied ?? "", model });
  for (const one of attachments) parameters.append("attachment", one);
  if (draft.length <= LONGEST_DRAFT) parameters.set("draft", draft);
  return getJson(`${page.urls.messages}/${message}/why?${parameters}`);
}
