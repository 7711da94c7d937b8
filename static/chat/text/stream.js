/**
 * Text that is still being written. Its first words are there as they arrive, as they were written, and are formatted
 * in the next frame. A block is committed once another has begun after it; only the last one is parsed and drawn again,
 * so that a long answer costs no more than a short one.
 */

import { h } from "../elements/dom.js";
import { drawing, parseMarkdown } from "./formatting.js";
import { LONGEST, plainNote, renderPlain, UNREADABLE } from "./plain.js";
import { plainLength, shownLength } from "./unfinished.js";

/**
 * @import { Block } from "./blocks.js"
 * @import { Drawn } from "./markdown.js"
 * @import { Parsed } from "./parser.js"
 */

const PAUSE = 40;
// One long block is parsed and drawn in at most a ninth of the time, however long it gets.
const REST = 8;

export class Stream {
  /** @param {HTMLElement} body the element that holds the text */
  constructor(body) {
    this.body = body;
    this.text = "";
    this.committed = 0;
    /** @type {Drawn[]} the committed blocks */
    this.blocks = [];
    /** How many characters are shown. */
    this.drawn = 0;
    this.rested = 0;
    this.waiting = false;
    this.over = false;
    /** @type {Text|null} the first words, until they are formatted */
    this.first = document.createTextNode("");
    /** @type {Text|null} all of the text, where it can't be formatted */
    this.plain = null;
    this.tail = h("div", { class: "tail" });
    this.cursor = h("span", { class: "cursor", "aria-hidden": "true" });
    body.replaceChildren(this.tail, this.cursor);
  }

  /** @param {string} written all that has been written so far */
  write(written) {
    // The lexer counts lines that end with \n alone.
    const text = written.includes("\r") ? written.replace(/\r\n?/g, "\n") : written;
    if (text === this.text) return;
    if (!text.startsWith(this.text)) this.#restart();
    this.text = text;
    if (this.first) this.#showFirst(this.first);
    this.#schedule();
  }

  /**
   * What is there stays until something else is put into its element; what is missing is added as it was written.
   * @param {string} text
   */
  end(text) {
    this.over = true;
    this.cursor.remove();
    const rest = text.slice(this.drawn);
    if (this.plain) this.plain.parentNode?.append(rest);
    else this.tail.append(h("span", { class: "rest" }, rest));
  }

  /**
   * Waiting for a frame would cost up to 17 ms, and parsing in the worker more.
   * @param {Text} first
   */
  #showFirst(first) {
    this.drawn = plainLength(this.text);
    first.data = this.text.slice(0, this.drawn).trimStart();
    if (first.isConnected || !first.data) return;
    this.tail.replaceChildren(h("p", { class: "as-written" }, first));
    this.#placeCursor();
  }

  #schedule() {
    if (this.waiting) return;
    this.waiting = true;
    const wait = this.rested - performance.now();
    if (wait > 0) setTimeout(() => requestAnimationFrame(() => void this.#draw()), wait);
    else requestAnimationFrame(() => void this.#draw());
  }

  #restart() {
    this.text = "";
    this.committed = 0;
    this.blocks = [];
    this.drawn = 0;
    this.first = document.createTextNode("");
    this.plain = null;
    this.tail.replaceChildren();
    this.body.replaceChildren(this.tail, this.cursor);
  }

  async #draw() {
    if (this.over) return;
    const begun = performance.now();
    const { text, committed } = this;
    if (this.plain) this.#drawPlain("");
    else {
      const length =
        text.length > LONGEST ? text.length : committed + shownLength(text.slice(committed));
      const part = text.length > LONGEST ? text : text.slice(committed, length);
      const parsed = parseMarkdown(part, () => !this.over);
      const found = parsed instanceof Promise ? await parsed : parsed;
      if (this.over) return;
      if (this.text.startsWith(text) && this.committed === committed)
        this.#showOrDrawPlain(found, length);
    }
    const took = performance.now() - begun;
    this.rested = begun + Math.max(PAUSE, took * (REST + 1));
    this.waiting = false;
    if (this.text !== text) this.#schedule();
  }

  /**
   * @param {Parsed} parsed
   * @param {number} length how much of the text that is, with what was committed
   */
  #showOrDrawPlain(parsed, length) {
    this.first = null;
    if (!("blocks" in parsed)) return this.#drawPlain(parsed.plain);
    try {
      this.#show(parsed.blocks);
      this.drawn = length;
    } catch (error) {
      console.error(error);
      this.#drawPlain(UNREADABLE);
    }
  }

  /** @param {Block[]} blocks */
  #show(blocks) {
    const last = blocks.findLastIndex(({ blank }) => !blank);
    if (last > 0) this.#commit(blocks.slice(0, last));
    const tail = blocks.slice(Math.max(last, 0));
    if (!this.#growCode(tail[0]))
      this.tail.replaceChildren(drawing().renderBlocks(tail, { streaming: true }));
    this.#placeCursor();
  }

  /** @param {string} why */
  #drawPlain(why) {
    this.drawn = this.text.length;
    if (this.plain) this.plain.appendData(this.text.slice(this.plain.length));
    else {
      const all = renderPlain(this.text);
      this.body.replaceChildren(plainNote(why), all);
      this.plain = /** @type {Text} */ (all.firstChild);
      all.append(this.cursor);
    }
  }

  /** @param {Block[]} blocks */
  #commit(blocks) {
    for (const block of blocks) {
      const drawn = drawing().drawBlock(block);
      this.tail.before(...drawn.nodes);
      this.blocks.push(drawn);
    }
    this.tail.replaceChildren();
    for (const { length } of blocks) this.committed += length;
  }

  /**
   * Extends a code block in place, since it only grows; false where that isn't possible.
   * @param {Block|undefined} block
   */
  #growCode(block) {
    if (!block || block.code === null) return false;
    const code = this.tail.querySelector(".code code");
    const node = code?.firstChild;
    const shown = node?.nodeValue?.replace(/\n$/, "");
    if (!node || code.childNodes.length > 1 || !shown || !block.code.startsWith(shown))
      return false;
    node.nodeValue = block.code;
    return true;
  }

  /** Puts the cursor where the next word will be. */
  #placeCursor() {
    let place = this.tail.lastElementChild;
    while (place && /^(UL|OL|LI|BLOCKQUOTE)$/.test(place.tagName) && place.lastElementChild) {
      if (place.tagName === "LI" && !/^(UL|OL|P)$/.test(place.lastElementChild.tagName)) break;
      place = place.lastElementChild;
    }
    if (place && /^(P|LI|H\d)$/.test(place.tagName)) place.append(this.cursor);
    else this.body.append(this.cursor);
  }
}
