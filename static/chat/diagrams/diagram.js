/** Draws a diagram when somebody asks for it, in a frame that reaches neither the page nor the network. */

import { h } from "../elements/dom.js";
import { readPage } from "../net/page-data.js";
import { say } from "../words/say.js";

/** @typedef {{ready?: true, height?: number, error?: string}} Told what the frame says */

// In ms. Mermaid itself takes a second to be loaded; what takes much longer will hardly end.
const PATIENCE = 15_000;
// In pixels; a higher drawing is scrolled in its frame.
const HIGHEST = 1600;
const LONGEST_REASON = 200;

export class Diagram {
  /**
   * @param {HTMLPreElement} pre the source, which is hidden while the drawing is there
   * @param {HTMLButtonElement} button
   */
  constructor(pre, button) {
    this.pre = pre;
    this.button = button;
    this.note = h("p", { class: "diagram-note", role: "status", hidden: true });
    pre.before(this.note);
    /** @type {HTMLIFrameElement|null} */
    this.frame = null;
    this.timer = 0;
    this.hear = (/** @type {MessageEvent} */ { source, data }) => {
      if (this.frame && source === this.frame.contentWindow) this.#take(data);
    };
    this.restyle = () => this.#send();
  }

  toggle() {
    if (this.frame) this.#showSource("");
    else this.#draw();
  }

  #draw() {
    this.frame = h("iframe", {
      src: readPage().urls.diagram,
      sandbox: "allow-scripts",
      title: say("Diagram"),
      referrerpolicy: "no-referrer",
    });
    addEventListener("message", this.hear);
    darkScheme().addEventListener("change", this.restyle);
    this.#tell(say("Drawing…"));
    this.note.after(this.frame);
    this.button.textContent = say("Show the source");
    this.timer = window.setTimeout(() => this.#showSource(say("It takes too long.")), PATIENCE);
  }

  /** @param {Told} told */
  #take({ ready, height, error }) {
    if (ready) this.#send();
    if (typeof error === "string")
      this.#showSource(error.split("\n").slice(0, 2).join(" ").slice(0, LONGEST_REASON));
    if (typeof height === "number" && this.frame) {
      clearTimeout(this.timer);
      this.#tell("");
      this.pre.hidden = true;
      this.frame.style.height = `${Math.min(Math.ceil(height), HIGHEST)}px`;
    }
  }

  #send() {
    // Its origin has no name that could be given here; what is sent is in the page already.
    this.frame?.contentWindow?.postMessage(
      {
        source: this.pre.textContent ?? "",
        dark: getComputedStyle(document.documentElement).colorScheme === "dark",
        font: getComputedStyle(document.body).fontFamily,
      },
      "*",
    );
  }

  /** @param {string} why there is no drawing, "" where somebody wants the source */
  #showSource(why) {
    clearTimeout(this.timer);
    removeEventListener("message", this.hear);
    darkScheme().removeEventListener("change", this.restyle);
    this.frame?.remove();
    this.frame = null;
    this.pre.hidden = false;
    this.button.textContent = say("Draw the diagram");
    this.#tell(why && say("This diagram can't be drawn: {why}", { why }));
  }

  /** @param {string} words */
  #tell(words) {
    this.note.hidden = !words;
    this.note.textContent = words;
  }
}

const darkScheme = () => matchMedia("(prefers-color-scheme: dark)");
