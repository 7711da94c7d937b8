/** What the palette finds: chats and messages on the server, and what the page knows of actions, agents, models and memories. */

import { getJson } from "../net/http.js";
import { searchChats } from "../net/requests.js";
import { say } from "../words/say.js";

/**
 * @import { Command } from "../state/keys.js"
 * @import { Choices } from "../shell/commands.js"
 * @import { Page } from "../types/page.js"
 * @import { Conversation, SearchHit } from "../types/wire.js"
 * @import { Entry, Sources } from "./palette.js"
 */

const NEWEST = 6;
// Of what was found, so that the list is taken in at a glance; the sidebar's search shows all.
const CHATS = 6;
const MESSAGES = 10;

/**
 * @param {{page: Page, commands: () => Command[], choices: Choices,
 *   open: (target: {conversation?: string, agent: string}) => void,
 *   openAt: (hit: SearchHit) => void}} about
 * @returns {Sources}
 */
export function paletteSources({ page, commands, choices, open, openAt }) {
  return {
    entries: () => [
      ...commands()
        .filter(({ name }) => name !== "palette")
        .map(({ words, keys, act }) => ({ group: say("Actions"), words, keys, act })),
      ...choices
        .memories()
        .map((one) => ({ group: say("What the model sees in this chat"), ...one })),
      ...choices.agents().map((one) => ({ group: say("Start a new chat with"), ...one })),
      ...choices.models().map((one) => ({ group: say("Which model answers"), ...one })),
    ],
    chats: (text, signal) =>
      text ? search(page, text, signal, openAt) : newest(page, signal, open),
  };
}

/**
 * @param {Page} page
 * @param {AbortSignal} signal
 * @param {(target: {conversation?: string, agent: string}) => void} open
 * @returns {Promise<Entry[]>}
 */
async function newest(page, signal, open) {
  /** @type {{conversations: Conversation[]}} */
  const { conversations } = await getJson(page.urls.conversations, signal);
  return conversations.slice(0, NEWEST).map(({ id, agent, title }) => ({
    group: say("Recent chats"),
    words: title || say("Untitled"),
    act: () => open({ conversation: id, agent }),
  }));
}

/**
 * @param {Page} page
 * @param {string} text
 * @param {AbortSignal} signal
 * @param {(hit: SearchHit) => void} openAt
 * @returns {Promise<Entry[]>}
 */
async function search(page, text, signal, openAt) {
  const { hits } = await searchChats(page, text, { signal });
  return [
    ...hits.filter(({ seq }) => seq === null).slice(0, CHATS),
    ...hits.filter(({ seq }) => seq !== null).slice(0, MESSAGES),
  ].map((hit) => ({
    group: hit.seq === null ? say("Chats") : say("Messages"),
    words: hit.title || say("Untitled"),
    parts: hit.parts,
    more: hit.seq === null ? (hit.archived ? say("archived") : "") : hit.title || say("Untitled"),
    act: () => openAt(hit),
  }));
}
