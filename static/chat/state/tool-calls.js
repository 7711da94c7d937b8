/** Tool calls in words: what was asked of a tool and what it answered, each on one line. Pure. */

import { shorten } from "./format.js";
import { say } from "../words/say.js";

/**
 * @import { Call, Message } from "../types/wire.js"
 */

/**
 * A call with its outcome; `result` is the tool's own text, null where there is none; `seq`, `message` (its id) and
 * the marks `excluded` and `kept` are its message's.
 * @typedef {Call & {state: "running"|"done"|"failed"|"never", result: string|null, seq: number|null,
 *   message: string|null, excluded: boolean, kept: boolean}} CallView
 */

// Room for a long line; the style sheet cuts what doesn't fit the screen.
const LONGEST = 90;
// Deeper JSON stays as it is: JSON.stringify calls itself, and indentation grows with the square.
const DEEPEST = 100;
// The error that the server stores for a call that never ran.
const NEVER = "NoResult";

/** @type {WeakMap<Message, CallView>} results that were parsed before: long ones are costly */
const views = new WeakMap();

/**
 * @param {Call} call
 * @param {Message|null} result the tool message that answers it
 * @returns {CallView}
 */
export function callView(call, result) {
  const known = result && views.get(result);
  if (known) return known;
  const view = readCall(call, result);
  if (result) views.set(result, view);
  return view;
}

/**
 * @param {Call} call
 * @param {Message|null} result
 * @returns {CallView}
 */
function readCall(call, result) {
  const text = result?.content ?? null;
  const marks = {
    seq: result?.seq ?? null,
    message: result?.id ?? null,
    excluded: result?.excluded ?? false,
    kept: result?.kept_whole ?? false,
  };
  if (result?.state === "running") return { ...call, ...marks, state: "running", result: null };
  const error = errorOf(text);
  const never = text === null || error?.name === NEVER;
  return { ...call, ...marks, state: never ? "never" : error ? "failed" : "done", result: text };
}

/**
 * `calculator("184000 / 92")`: a single argument without its name.
 * @param {Pick<Call, "name"|"arguments">} call
 */
export function describeCall({ name, arguments: given }) {
  const values = Object.values(given ?? {});
  return `${name}(${shorten(values.length === 1 ? JSON.stringify(values[0]) : describeRecord(given ?? {}), LONGEST)})`;
}

/**
 * The call's outcome on one line.
 * @param {Pick<CallView, "state"|"result">} call
 */
export function describeResult({ state, result }) {
  if (state === "never") return say("no result");
  if (state === "failed")
    return say("failed: {message}", { message: shorten(errorOf(result)?.message ?? "", LONGEST) });
  return shorten(describeValue(parseJson(result ?? "")), LONGEST);
}

/**
 * Formats JSON with a line for each value; any other text stays as it is.
 * @param {string} text
 */
export function formatJson(text) {
  const value = parseJson(text);
  return value === text ? text : JSON.stringify(value, null, 2);
}

/**
 * The `result` of a tool that returns more than its result, otherwise all of it.
 * @param {unknown} value
 * @returns {string}
 */
function describeValue(value) {
  if (typeof value === "string") return value;
  if (value === null || typeof value !== "object" || Array.isArray(value))
    return JSON.stringify(value);
  return "result" in value ? describeValue(value.result) : describeRecord(value, describeBriefly);
}

/**
 * A list in a result is shown by its length: whoever opens the line reads what it holds.
 * @param {unknown} value
 */
const describeBriefly = (value) =>
  Array.isArray(value) ? String(value.length) : JSON.stringify(value);

/**
 * @param {object} record
 * @param {(value: unknown) => string} words
 */
const describeRecord = (record, words = JSON.stringify) =>
  Object.entries(record)
    .map(([key, value]) => `${key}: ${words(value)}`)
    .join(", ");

/**
 * @param {string} text
 * @returns {unknown} the JSON value, or the text itself
 */
function parseJson(text) {
  try {
    return isDeep(text) ? text : JSON.parse(text);
  } catch {
    return text;
  }
}

/**
 * Brackets in strings count too: too many of them only leave the text as it is.
 * @param {string} text
 */
function isDeep(text) {
  let depth = 0;
  for (let at = 0; at < text.length && depth <= DEEPEST; at += 1) {
    const character = text[at];
    if (character === "[" || character === "{") depth += 1;
    else if (depth && (character === "]" || character === "}")) depth -= 1;
  }
  return depth > DEEPEST;
}

/**
 * @param {string|null} text
 * @returns {{name: string, message: string}|null}
 */
function errorOf(text) {
  const value = text === null ? null : parseJson(text);
  const error = value && typeof value === "object" && "error" in value ? value.error : null;
  return error && typeof error === "object" && "message" in error
    ? /** @type {{name: string, message: string}} */ (error)
    : null;
}
