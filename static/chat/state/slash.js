/** What a text that begins with a slash means: which commands and prompts it finds. Pure. */

/** @import { Choice, Command } from "./keys.js" */

/**
 * The command that a text is, with what stands behind its name; null where it is a message.
 * @param {string} text
 * @param {Command[]} commands
 * @returns {{command: Command, rest: string}|null}
 */
export function readCommand(text, commands) {
  const found = /^\/(\S+)([ \t].*)?$/.exec(text.trim());
  const command = found && commands.find(({ slash, name }) => slash && name === found[1]);
  const rest = (found?.[2] ?? "").replace(/\s+/gu, " ").trim();
  return command && (!rest || command.takes) ? { command, rest } : null;
}

/**
 * What is listed for a text: the choices of a command that is written whole, or else what its words begin.
 * @param {string} text
 * @param {Command[]} commands those that can be done now
 * @param {Choice[]} prompts with the name of each as its words
 * @returns {{name: string, words: string, more?: string, command?: Command, act?: () => void}[]}
 */
export function listFor(text, commands, prompts) {
  const [, query] = /^\/(.*)$/u.exec(text) ?? [];
  if (query === undefined) return [];
  const [, name, rest] = /^(\S+)[ \t]+(.*)$/u.exec(query) ?? [];
  const chosen = commands.find((one) => one.name === name);
  if (chosen?.choices)
    return chosen
      .choices()
      .filter(({ words }) => begins(words, rest))
      .map((one) => ({ ...one, name: "" }));
  if (chosen?.takes) return [{ name: chosen.name, words: chosen.words, command: chosen }];
  // A text of several words is a message, unless a prompt has such a name.
  const word = !/\s/u.test(query);
  const found = [
    ...commands
      .filter((one) => word && begins(`${one.name} ${one.words}`, query))
      .map((command) => ({ name: command.name, words: command.words, command })),
    ...prompts
      .filter(({ words }) => begins(words, query))
      .map(({ words, more = "", act }) => ({ name: words, words: more, act })),
  ];
  const starts = (/** @type {{name: string}} */ one) =>
    one.name.toLowerCase().startsWith(query.toLowerCase());
  return [...found.filter(starts), ...found.filter((one) => !starts(one))];
}

/**
 * Whether what is typed begins the text, or one of its words.
 * @param {string} text
 * @param {string} typed
 */
const begins = (text, typed) =>
  ` ${text.toLowerCase()}`
    .replaceAll("-", " ")
    .includes(` ${typed.toLowerCase().trim().replaceAll("-", " ")}`);
