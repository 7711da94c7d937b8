/** Keys of commands: how they are compared, written, and which may be chosen. Pure. */

import { say } from "../words/say.js";

/**
 * @typedef {{code: string, shift?: boolean, control?: boolean}} Keys `code` is a `KeyboardEvent.code`; `control`: Ctrl or ⌘
 * @typedef {{words: string, more?: string, act: () => void}} Choice
 * @typedef {{name: string, words: string, keys: Keys|null, act: (text?: string) => unknown, slash?: true, takes?: true,
 *   can?: () => boolean, choices?: () => Choice[]}} Command `slash`: a slash and its name call it in the message box,
 *   where it can be done (`can`). It is called with the text behind its name if it `takes` one, and stays in the box
 *   where it gives false; or one of its `choices` is listed and done instead.
 */

/** @type {Record<string, string>} */
const NAMES = {
  Period: ".",
  Comma: ",",
  Slash: "/",
  Semicolon: ";",
  Quote: "'",
  Minus: "-",
  Equal: "=",
  Backslash: "\\",
  Backquote: "`",
  BracketLeft: "[",
  BracketRight: "]",
  ArrowUp: "↑",
  ArrowDown: "↓",
  ArrowLeft: "←",
  ArrowRight: "→",
  Escape: "Esc",
};
// The browser keeps these for itself, or every text box needs them.
const TAKEN = /^Key[WTNRLQCVXAZYFPS]$/;
const MODIFIER = /^(?:Control|Shift|Alt|Meta|OS)(?:Left|Right)$/;

/** @param {Pick<KeyboardEvent, "code">} event */
export const isModifier = ({ code }) => MODIFIER.test(code);

/**
 * @param {Pick<KeyboardEvent, "code"|"shiftKey"|"ctrlKey"|"metaKey">} event
 * @returns {Keys}
 */
export const keysOf = ({ code, shiftKey, ctrlKey, metaKey }) => ({
  code,
  shift: shiftKey,
  control: ctrlKey || metaKey,
});

/**
 * @param {Keys|null} one
 * @param {Keys|null} other
 */
export const areSame = (one, other) =>
  Boolean(one && other) &&
  one?.code === other?.code &&
  Boolean(one?.shift) === Boolean(other?.shift) &&
  Boolean(one?.control) === Boolean(other?.control);

/**
 * The keys' names in their order: "Ctrl", "Shift", "O".
 * @param {Keys} keys
 * @param {boolean} mac
 */
export function nameKeys({ code, shift, control }, mac) {
  const key = NAMES[code] ?? code.replace(/^(?:Key|Digit)/, "");
  return [control && (mac ? "⌘" : "Ctrl"), shift && (mac ? "⇧" : "Shift"), key].filter(
    (one) => typeof one === "string",
  );
}

/**
 * @param {Command[]} commands
 * @param {Command} command that is to have them
 * @param {Keys} keys
 * @returns {string} why they can't be chosen; "" where they can
 */
export function whyNotKeys(commands, command, keys) {
  if (!keys.control && !/^F\d+$/.test(keys.code))
    return say("A shortcut needs Ctrl (⌘) or a function key.");
  if (keys.control && !keys.shift && TAKEN.test(keys.code))
    return say("The browser needs these keys itself.");
  const other = commands.find((one) => one !== command && areSame(one.keys, keys));
  return other ? say("These keys belong to “{command}”.", { command: other.words }) : "";
}

/**
 * The table with what was changed of it; what can't be read is left as it is. A command whose usual keys somebody gave
 * to another one has none: the table's keys may be newer than that choice.
 * @param {Command[]} commands
 * @param {string} stored JSON: keys by a command's name
 * @returns {Command[]}
 */
export function withKeys(commands, stored) {
  /** @type {Record<string, unknown>} */
  let changed = {};
  try {
    changed = Object(JSON.parse(stored));
  } catch {
    return commands;
  }
  /** @param {Command} one */
  const chosen = ({ name }) => {
    const keys = /** @type {Keys|undefined} */ (
      Object.hasOwn(changed, name) ? changed[name] : undefined
    );
    return keys && typeof keys === "object" && typeof keys.code === "string" ? keys : null;
  };
  const taken = commands.map(chosen);
  return commands.map((one, index) => {
    const keys = taken[index];
    if (keys) return { ...one, keys };
    return taken.some((other) => areSame(other, one.keys)) ? { ...one, keys: null } : one;
  });
}
