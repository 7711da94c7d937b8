/** What can be done from everywhere in the page: one table, which the keys, their list and the palette read. */

import { say } from "../words/say.js";

/** @import { Command } from "../state/keys.js" */

/**
 * @typedef {"newChat"|"palette"|"search"|"focus"|"sidebar"|"panel"|"policy"|"model"|"compact"|"horizon"|"newest"|"lastCode"|"lastAnswer"|"chatMarkdown"|"chatText"|"share"|"list"} Act
 */

/**
 * @param {Record<Act, () => void>} acts
 * @returns {Command[]} with the keys that they have until somebody changes them
 */
export const commandTable = (acts) => [
  {
    name: "new",
    words: say("New chat"),
    keys: { code: "KeyO", shift: true, control: true },
    act: acts.newChat,
  },
  {
    name: "palette",
    words: say("Find a chat or an action"),
    keys: { code: "KeyK", control: true },
    act: acts.palette,
  },
  {
    name: "find",
    words: say("Search conversations"),
    keys: { code: "KeyK", shift: true, control: true },
    act: acts.search,
  },
  {
    name: "focus",
    words: say("Go to the message box"),
    keys: { code: "Escape", shift: true },
    act: acts.focus,
  },
  { name: "policy", words: say("Choose what the model sees"), keys: null, act: acts.policy },
  { name: "model", words: say("Choose which model answers"), keys: null, act: acts.model },
  {
    name: "compact",
    words: say("Compact: make room with a summary of older messages"),
    keys: null,
    act: acts.compact,
  },
  {
    name: "side",
    words: say("Show or hide the sidebar"),
    keys: { code: "KeyS", shift: true, control: true },
    act: acts.sidebar,
  },
  {
    name: "panel",
    words: say("Show or hide the debug panel"),
    keys: { code: "Period", control: true },
    act: acts.panel,
  },
  {
    name: "horizon",
    words: say("Go to the memory line"),
    keys: { code: "ArrowUp", shift: true, control: true },
    act: acts.horizon,
  },
  {
    name: "newest",
    words: say("Go to the newest message"),
    keys: { code: "ArrowDown", shift: true, control: true },
    act: acts.newest,
  },
  {
    name: "code",
    words: say("Copy the last code block"),
    keys: { code: "Semicolon", shift: true, control: true },
    act: acts.lastCode,
  },
  {
    name: "answer",
    words: say("Copy the last answer"),
    keys: { code: "Quote", shift: true, control: true },
    act: acts.lastAnswer,
  },
  {
    name: "chat-markdown",
    words: say("Copy this chat as Markdown"),
    keys: null,
    act: acts.chatMarkdown,
  },
  { name: "chat-text", words: say("Copy this chat as text"), keys: null, act: acts.chatText },
  { name: "share", words: say("Share this chat by a link"), keys: null, act: acts.share },
  {
    name: "keys",
    words: say("Show shortcuts"),
    keys: { code: "Slash", control: true },
    act: acts.list,
  },
];
