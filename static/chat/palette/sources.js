/** What the palette finds: chats on the server, and what the page knows of actions, agents, models and memories. */

import { getJson } from "../net/http.js";
import { say } from "../words/say.js";

/**
 * @import { Command } from "../state/keys.js"
 * @import { Choices } from "../shell/commands.js"
 * @import { Page } from "../types/page.js"
 * @import { Conversation, SearchPage } from "../types/wire.js"
 * @import { Entry, Sources } from "./palette.js"
 */

const NEWEST = 6;

/**
 * @param {{page: Page, commands: () => Command[], choices: Choices,
 *   open: (target: {conversation?: string, agent: string}) => void}} about
 * @returns {Sources}
 */
export function paletteSources({ page, commands, choices, open }) {
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
    chats: (text) => (text ? search(page, text, open) : newest(page, open)),
  };
}

/**
 * @param {Page} page
 * @param {(target: {conversation?: string, agent: string}) => void} open
 * @returns {Promise<Entry[]>}
 */
async function newest(page, open) {
  /** @type {{conversations: Conversation[]}} */
  const { conversations } = await getJson(page.urls.conversations);
  return conversations.slice(0, NEWEST).map(({ id, agent, title }) => ({
    group: say("Recent chats"),
    words: title || say("Untitled"),
    act: () => open({ conversation: id, agent }),
  }));
}

/**
 * Each chat once, though many of its messages have the words.
 * @param {Page} page
 * @param {string} text
 * @param {(target: {conversation?: string, agent: string}) => void} open
 * @returns {Promise<Entry[]>}
 */
async function search(page, text, open) {
  /** @type {SearchPage} */
  const { hits } = await getJson(`${page.urls.search}?${new URLSearchParams({ q: text })}`);
  const first = new Map(hits.map((hit) => [hit.conversation, hit]));
  return [...first.values()].map(({ conversation, agent, title }) => ({
    group: say("Chats with these words"),
    words: title || say("Untitled"),
    act: () => open({ conversation, agent }),
  }));
}
