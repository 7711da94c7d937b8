/** The tools that a model used: a line each, which opens to all that was asked and answered. */

import { h, put } from "../elements/dom.js";
import { short } from "../state/format.js";
import { icon } from "../elements/icons.js";

/**
 * A call with what became of it; `result` is the tool's own text, null where there is none, `seq` its message's.
 * @typedef {import("../state/state.js").Call & {state: "running"|"done"|"failed"|"never", result: string|null,
 *   seq: number|null}} CallView
 */

// Room for a long line; what doesn't fit the screen is cut by the style sheet.
const LONGEST = 90;
const NEVER = "NoResult";

/** @type {WeakMap<import("../state/state.js").Message, CallView>} what was read of a result, long ones once */
const read = new WeakMap();

/**
 * @param {import("../state/state.js").Call} call
 * @param {import("../state/state.js").Message|null} result the tool message that answers it
 * @returns {CallView}
 */
export function callView(call, result) {
  const known = result && read.get(result);
  if (known) return known;
  const view = viewOf(call, result);
  if (result) read.set(result, view);
  return view;
}

function viewOf(call, result) {
  const text = result?.content ?? null;
  const seq = result?.seq ?? null;
  if (result?.state === "running") return { ...call, state: "running", result: null, seq };
  const error = errorOf(text);
  const never = text === null || error?.name === NEVER;
  return { ...call, state: never ? "never" : error ? "failed" : "done", result: text, seq };
}

/** `calculator("184000 / 92")`: a single argument without its name. */
export function callWords({ name, arguments: given }) {
  const said = Object.values(given ?? {});
  return `${name}(${short(said.length === 1 ? JSON.stringify(said[0]) : namedWords(given ?? {}), LONGEST)})`;
}

/** What came of it, on one line. */
export function resultWords({ state, result }) {
  if (state === "never") return "no result";
  if (state === "failed") return `failed: ${short(errorOf(result)?.message ?? "", LONGEST)}`;
  return short(valueWords(parsed(result ?? "")), LONGEST);
}

/** Elements for calls, kept as long as their calls are there. */
export class Calls {
  /** @param {Set<string>} open keys of what stands open */
  constructor(open) {
    this.open = open;
    this.element = h("div", { class: "calls", hidden: true });
    /** @type {Map<string, {element: HTMLElement, call: CallView}>} */
    this.lines = new Map();
  }

  /**
   * @param {string} owner the message's key
   * @param {CallView[]} calls
   * @param {string[]} coming names of the tools whose calls are being written
   */
  update(owner, calls, coming) {
    const wanted = [
      ...calls.map((call, index) => ({ key: `${owner}:${index}`, call })),
      ...coming.map((name, index) => ({
        key: `${owner}:coming:${index}`,
        call: { id: "", name, arguments: {}, state: /** @type {const} */ ("running"), result: null, seq: null },
      })),
    ];
    this.element.hidden = !wanted.length;
    const elements = wanted.map(({ key, call }) => this.#line(key, call));
    if (elements.some((element, index) => this.element.children[index] !== element)
      || this.element.children.length !== elements.length) put(this.element, elements);
  }

  /** @param {CallView} call */
  #line(key, call) {
    const known = this.lines.get(key);
    if (known && isSame(known.call, call)) return known.element;
    const element = /** @type {HTMLDetailsElement} */ (known?.element ?? h("details", { tabindex: "-1" }));
    const summary = known?.element.querySelector("summary") ?? h("summary", {});
    put(summary, line(call), icon("down", 12));
    if (!known) {
      element.open = this.open.has(key);
      element.addEventListener("toggle", () => this.open[element.open ? "add" : "delete"](key));
    }
    element.className = `call ${call.state}`;
    if (call.seq !== null) element.dataset.seq = String(call.seq);
    // The summary keeps the focus that it may have.
    for (const child of [...element.children]) if (child !== summary) child.remove();
    if (!summary.isConnected) element.prepend(summary);
    element.append(inside(call));
    this.lines.set(key, { element, call });
    return element;
  }
}

/** @type {(one: CallView, other: CallView) => boolean} */
const isSame = (one, other) => one === other
  || (one.id === other.id && one.name === other.name && one.state === other.state && one.result === other.result);

/** @param {CallView} call */
function line(call) {
  const { state, name } = call;
  if (state === "running") return h("span", { class: "call-words" }, "Using ", h("code", {}, name), "…");
  return [
    state !== "done" && icon("warn", 13),
    h("span", { class: "call-words" }, state === "never" ? "Asked for " : "Used ", h("code", {}, callWords(call))),
    h("span", { class: "call-result" }, `→ ${resultWords(call)}`),
  ];
}

/** @param {CallView} call */
function inside(call) {
  const pre = (label, text) => [h("p", { class: "call-label" }, label), h("pre", { tabindex: "0", "aria-label": label, role: "group" }, text)];
  if (!call.id) return h("div", { class: "call-inside" }, h("p", { class: "call-label" }, "The call is still being written."));
  return h("div", { class: "call-inside" },
    pre("Asked with", formatted(JSON.stringify(call.arguments))),
    call.state === "running" ? h("p", { class: "call-label" }, "No result yet.")
      : call.result === null ? h("p", { class: "call-label" }, "No result is stored.")
        : pre("Answered", formatted(call.result)));
}

/** Where a tool tells more besides its `result`, that is what it was asked for. */
function valueWords(value) {
  if (typeof value === "string") return value;
  if (value === null || typeof value !== "object" || Array.isArray(value)) return JSON.stringify(value);
  return "result" in value ? valueWords(value.result) : namedWords(value, counted);
}

/** Of a list in a result how long it is: what it holds is read by whoever opens the line. */
const counted = (value) => (Array.isArray(value) ? String(value.length) : JSON.stringify(value));

const namedWords = (record, words = JSON.stringify) =>
  Object.entries(record).map(([key, value]) => `${key}: ${words(value)}`).join(", ");

/** JSON with a line for each value; any other text as it is. */
function formatted(text) {
  const value = parsed(text);
  return value === text ? text : JSON.stringify(value, null, 2);
}

function parsed(text) {
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}

/** @returns {{name: string, message: string}|null} */
function errorOf(text) {
  const value = text === null ? null : parsed(text);
  const error = value && typeof value === "object" && !Array.isArray(value) ? value.error : null;
  return error && typeof error === "object" && "message" in error ? error : null;
}
