/** The reasoning of a model before its answer: plain text, closed until it is opened. */

import { h, setText } from "../elements/dom.js";
import { say } from "../words/say.js";

/** @typedef {{open: Set<string>, took: Map<string, number>}} ViewMemory what this page remembers of its answers */

export class Reasoning {
  /** @param {ViewMemory} memory */
  constructor(memory) {
    this.memory = memory;
    this.key = "";
    this.text = "";
    this.begun = 0;
    this.fresh = true;
    this.words = h("span", {});
    this.body = h("p", { class: "thought-text as-written", dir: "auto" });
    this.element = h(
      "details",
      { class: "thought", hidden: true },
      h("summary", {}, this.words),
      this.body,
    );
    this.element.addEventListener("toggle", () => {
      memory.open[this.element.open ? "add" : "delete"](`thought:${this.key}`);
      this.#write();
    });
  }

  /**
   * @param {string} key the message's
   * @param {string} text
   * @param {boolean} thinking whether more of it comes
   */
  update(key, text, thinking) {
    this.#rename(key);
    this.element.hidden = !text;
    if (text && !this.text && !this.fresh) this.begun = performance.now();
    if (text && !thinking && this.begun) {
      this.memory.took.set(key, performance.now() - this.begun);
      this.begun = 0;
    }
    this.fresh = false;
    this.text = text;
    this.element.classList.toggle("running", thinking);
    setText(
      this.words,
      !text ? "" : thinking ? say("Thinking…") : describeDuration(this.memory.took.get(key)),
    );
    // While it is closed, nobody reads along.
    if (!thinking || this.element.open) this.#write();
  }

  /**
   * A message gets its own key when it is stored.
   * @param {string} key
   */
  #rename(key) {
    const { open, took } = this.memory;
    if (this.key === key) return;
    const [old, now] = [`thought:${this.key}`, `thought:${key}`];
    if (this.element.open && this.key) {
      open.delete(old);
      open.add(now);
    } else if (open.has(now)) this.element.open = true;
    const time = took.get(this.key);
    if (time !== undefined && this.key) took.set(key, time);
    this.key = key;
  }

  #write() {
    const node = /** @type {Text|null} */ (this.body.firstChild);
    if (node && this.text.startsWith(node.data)) node.appendData(this.text.slice(node.data.length));
    else setText(this.body, this.text);
  }
}

/**
 * The duration is known only where this page was open meanwhile.
 * @param {number|undefined} milliseconds
 */
function describeDuration(milliseconds) {
  if (milliseconds === undefined) return say("Thoughts");
  const seconds = Math.round(milliseconds / 1000);
  return seconds ? say("Thought for {seconds} s", { seconds }) : say("Thought for a moment");
}
