/** The tools that a model used: a line each, which opens to the whole call and its result. */

import { h, setChildren, textButton } from "../elements/dom.js";
import { icon } from "../elements/icons.js";
import { describeCall, describeResult, formatJson } from "../state/tool-calls.js";
import { say } from "../words/say.js";

/**
 * @import { CallView } from "../state/tool-calls.js"
 * @import { Actions } from "./row.js"
 */

/** The lines of a message's calls; a line's element is kept as long as its call is there. */
export class ToolCallLines {
  /**
   * @param {Set<string>} open keys of the lines that are open
   * @param {Pick<Actions, "mark"|"keepWhole"|"onlyReads">} actions
   */
  constructor(open, actions) {
    this.open = open;
    this.actions = actions;
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
        call: {
          id: "",
          name,
          arguments: {},
          state: /** @type {const} */ ("running"),
          result: null,
          seq: null,
          message: null,
          excluded: false,
          kept: false,
        },
      })),
    ];
    this.element.hidden = !wanted.length;
    const elements = wanted.map(({ key, call }) => this.#line(key, call));
    if (
      elements.some((element, index) => this.element.children[index] !== element) ||
      this.element.children.length !== elements.length
    )
      setChildren(this.element, elements);
  }

  /**
   * @param {string} key
   * @param {CallView} call
   */
  #line(key, call) {
    const known = this.lines.get(key);
    if (known && isSame(known.call, call)) return known.element;
    const element = /** @type {HTMLDetailsElement} */ (
      known?.element ?? h("details", { tabindex: "-1" })
    );
    const summary = known?.element.querySelector("summary") ?? h("summary", {});
    setChildren(summary, line(call), icon("down", 12));
    if (!known) {
      element.open = this.open.has(key);
      element.addEventListener("toggle", () => this.open[element.open ? "add" : "delete"](key));
    }
    element.className = `call ${call.state}`;
    if (call.seq !== null) element.dataset.seq = String(call.seq);
    // Only the summary is kept: it may have the focus.
    for (const child of [...element.children]) if (child !== summary) child.remove();
    if (!summary.isConnected) element.prepend(summary);
    element.append(inside(call));
    if (call.message && call.result !== null && !this.actions.onlyReads())
      element.append(this.#marks(call.message, call));
    this.lines.set(key, { element, call });
    return element;
  }

  /**
   * What can be done with the result alone.
   * @param {string} id
   * @param {CallView} call
   */
  #marks(id, { seq, excluded, kept }) {
    const { mark, keepWhole } = this.actions;
    return h(
      "p",
      { class: "call-marks" },
      textButton(excluded ? say("Send this result again") : say("Don't send this result"), () =>
        mark(id, "excluded", !excluded),
      ),
      !excluded && " · ",
      !excluded &&
        textButton(kept ? say("Let it give way") : say("Always send it whole"), () =>
          keepWhole([Number(seq)], !kept),
        ),
    );
  }
}

/** @type {(one: CallView, other: CallView) => boolean} */
const isSame = (one, other) =>
  one === other ||
  (one.id === other.id &&
    one.name === other.name &&
    one.state === other.state &&
    one.excluded === other.excluded &&
    one.kept === other.kept &&
    one.result === other.result);

/** @param {CallView} call */
function line(call) {
  const { state, name } = call;
  if (state === "running")
    return h("span", { class: "call-words cut" }, say("Using"), " ", h("code", {}, name), "…");
  return [
    state !== "done" && icon("warn", 13),
    h(
      "span",
      { class: "call-words cut" },
      state === "never" ? say("Asked for") : say("Used"),
      " ",
      h("code", {}, describeCall(call)),
    ),
    h("span", { class: "call-result cut" }, `→ ${describeResult(call)}`),
    call.excluded && h("span", { class: "m-label" }, say("left out")),
  ];
}

/** @param {CallView} call */
function inside(call) {
  /**
   * @param {string} label
   * @param {string} text
   */
  const pre = (label, text) => [
    h("p", { class: "call-label" }, label),
    h("pre", { tabindex: "0", "aria-label": label, role: "group" }, text),
  ];
  if (!call.id)
    return h(
      "div",
      { class: "call-inside" },
      h("p", { class: "call-label" }, say("The call is still being written.")),
    );
  return h(
    "div",
    { class: "call-inside" },
    pre(say("Asked with"), formatJson(JSON.stringify(call.arguments))),
    call.state === "running"
      ? h("p", { class: "call-label" }, say("No result yet."))
      : call.result === null
        ? h("p", { class: "call-label" }, say("No result is stored."))
        : pre(say("Answered"), formatJson(call.result)),
  );
}
