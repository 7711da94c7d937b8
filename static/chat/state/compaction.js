/** Compacting by hand: its figures, and the exact values that a text holds. Pure. */

import { formatDollars, formatNumber } from "./format.js";
import { say } from "../words/say.js";

/** @import { CompactPlan } from "../types/page.js" */

/**
 * A value that a text lacks; those that are stored with a version have their text alone.
 * @typedef {{text: string, unit?: string, kind?: string}} Lost
 */

const WORD = /[\p{L}\p{N}_]/u;
// The model reads it, whatever the language of the page; a draft without a model ends with such a line, too.
const VALUES = "Exact values: ";
const INSTRUCTION = "The user's instruction: ";
// In US dollars: less isn't worth a sentence.
const LEAST_SAVED = 0.0001;

/**
 * Whether a value stands in the text, and not inside a longer word or number.
 * @param {string} text
 * @param {string} value
 */
function holdsValue(text, value) {
  for (let at = text.indexOf(value); at >= 0; at = text.indexOf(value, at + 1))
    if (!WORD.test(text[at - 1] ?? "") && !WORD.test(text[at + value.length] ?? "")) return true;
  return false;
}

/**
 * The values that don't stand in the text, each once.
 * @param {string} text
 * @param {Lost[]} lost
 */
export const missingValues = (text, lost) =>
  [...new Map(lost.map((one) => [one.text, one])).values()].filter(
    (one) => !holdsValue(text, one.text),
  );

/**
 * As it is shown and kept: "189 euros" says more than "189".
 * @param {Lost} value
 */
export const withUnit = ({ text, unit }) => (unit ? `${text} ${unit}` : text);

/**
 * The text with these values in its last line, below instructions, which have a line each.
 * @param {string} text
 * @param {Lost[]} lost
 */
export function keepValues(text, lost) {
  const said = lost.filter((one) => one.kind === "instruction");
  const values = lost.filter((one) => one.kind !== "instruction").map(withUnit);
  let above = text.trimEnd();
  for (const one of said) above += `${above && "\n\n"}${INSTRUCTION}${one.text}`;
  if (!values.length) return above;
  const begun = above.slice(above.lastIndexOf("\n") + 1).startsWith(VALUES);
  const joint = begun ? "; " : above ? `\n\n${VALUES}` : VALUES;
  return above + joint + values.join("; ");
}

/**
 * What a compaction gives: "Frees about 5,200 of 7,900 tokens."
 * @param {Pick<CompactPlan, "tokens"|"freed"|"saves">} plan
 */
export function describeFreed({ tokens, freed, saves }) {
  if (freed <= 0) return say("This frees nothing in your next message.");
  const room = say("Frees about {freed} of {tokens} tokens.", {
    freed: formatNumber(freed),
    tokens: formatNumber(tokens),
  });
  return saves && saves >= LEAST_SAVED
    ? say("{room} Each message then costs about {saves} less.", {
        room,
        saves: formatDollars(saves),
      })
    : room;
}

/**
 * The label of the button that lets a model write.
 * @param {number} part how many parts there are already
 * @param {Pick<CompactPlan, "by"|"parts"|"cost">} plan
 */
export function describeWriter(part, { by, parts, cost }) {
  if (part) return say("Go on with part {part} of {parts}", { part: part + 1, parts });
  return cost
    ? say("Write it with {by} (about {cost})", { by, cost: formatDollars(cost) })
    : say("Write it with {by}", { by });
}

/**
 * @param {number} part how many parts there are already
 * @param {number} parts
 */
export const describeWriting = (part, parts) =>
  parts > 1
    ? say("Part {part} of {parts} is being written…", { part: part + 1, parts })
    : say("It is being written…");

/**
 * Where a draft without a model comes from.
 * @param {Pick<CompactPlan, "version">} plan
 */
export const describeDraft = ({ version }) =>
  version
    ? say("Your summary so far, with your newer messages added without a model. You can change it.")
    : say("A first draft from your own messages, made without a model. You can change it.");
