/** What can be done from everywhere in the page: one table, which the keys, their list, the palette and the slash read. */

import { say } from "../words/say.js";

/** @import { Choice, Command } from "../state/keys.js" */

/**
 * @typedef {"newChat"|"palette"|"search"|"focus"|"sidebar"|"panel"|"policy"|"model"|"compact"|"horizon"|"newest"|"lastCode"|"lastAnswer"|"chatMarkdown"|"chatText"|"share"|"list"|"agent"|"forget"|"remember"|"title"|"export"|"prompts"|"keepPrompt"} Act
 * @typedef {{begun: boolean, canForget: boolean, canRemember: boolean, exports: Choice[]}} Chat
 * @typedef {{memories: () => Choice[], agents: () => Choice[], models: () => Choice[]}} Choices
 */

/**
 * @param {Record<Act, (text?: string) => unknown>} acts
 * @param {Chat} chat as it is whenever it is looked at
 * @param {Choices} choices
 * @returns {Command[]} with the keys that they have until somebody changes them
 */
export const commandTable = (acts, chat, choices) => [
  {
    name: "new",
    words: say("New chat"),
    keys: { code: "KeyO", shift: true, control: true },
    act: acts.newChat,
    slash: true,
  },
  {
    name: "palette",
    words: say("Find a chat, a message or an action"),
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
  {
    name: "policy",
    words: say("Choose what the model sees"),
    keys: null,
    act: acts.policy,
    slash: true,
    can: () => choices.memories().length > 0,
    choices: choices.memories,
  },
  {
    name: "model",
    words: say("Choose which model answers"),
    keys: null,
    act: acts.model,
    slash: true,
    choices: choices.models,
  },
  {
    name: "agent",
    words: say("Start a new chat with another agent"),
    keys: null,
    act: acts.agent,
    slash: true,
    choices: choices.agents,
  },
  {
    name: "compact",
    words: say("Compact: make room with a summary of older messages"),
    keys: null,
    act: acts.compact,
    slash: true,
    takes: true,
    can: () => chat.begun,
  },
  {
    name: "forget",
    words: say("Forget everything above"),
    keys: null,
    act: acts.forget,
    slash: true,
    can: () => chat.canForget,
  },
  {
    name: "remember",
    words: say("Remember everything again"),
    keys: null,
    act: acts.remember,
    slash: true,
    can: () => chat.canRemember,
  },
  {
    name: "title",
    words: say("Rename this chat"),
    keys: null,
    act: acts.title,
    slash: true,
    takes: true,
    can: () => chat.begun,
  },
  {
    name: "export",
    words: say("Export this chat"),
    keys: null,
    act: acts.export,
    slash: true,
    can: () => chat.begun,
    choices: () => chat.exports,
  },
  {
    name: "prompts",
    words: say("Your prompts: write, change or delete one"),
    keys: null,
    act: acts.prompts,
    slash: true,
  },
  {
    name: "save-prompt",
    words: say("Save the message box as a prompt"),
    keys: null,
    act: acts.keepPrompt,
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
  {
    name: "share",
    words: say("Share this chat by a link"),
    keys: null,
    slash: true,
    can: () => chat.begun,
    act: acts.share,
  },
  {
    name: "keys",
    words: say("Show shortcuts"),
    keys: { code: "Slash", control: true },
    act: acts.list,
  },
];
