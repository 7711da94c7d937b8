/**
 * Text that is still being written. A block is committed once another has begun after it; only
 * the last one is rendered again, at most once a frame, so that a long answer costs no more than a short one.
 */

import { h } from "../elements/dom.js";
import { parseBlocks, render, renderBlocks } from "./markdown.js";

/** @import { Token } from "../../vendor/marked/marked.esm.js" */

const PAUSE = 40;

export class Stream {
  /** @param {HTMLElement} body the element that holds the text */
  constructor(body) {
    this.body = body;
    this.text = "";
    this.committed = 0;
    this.drawnAt = 0;
    this.waiting = false;
    this.over = false;
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
    if (this.waiting) return;
    this.waiting = true;
    const wait = PAUSE - (performance.now() - this.drawnAt);
    if (wait > 0) setTimeout(() => requestAnimationFrame(() => this.#draw()), wait);
    else requestAnimationFrame(() => this.#draw());
  }

  /**
   * Renders the whole text once more: links and lists that span blocks are only complete now.
   * @param {string} text
   */
  finish(text) {
    this.over = true;
    this.body.replaceChildren(render(text));
  }

  #restart() {
    this.text = "";
    this.committed = 0;
    this.tail.replaceChildren();
    this.body.replaceChildren(this.tail, this.cursor);
  }

  #draw() {
    this.waiting = false;
    if (this.over) return;
    this.drawnAt = performance.now();
    const tokens = parseBlocks(this.text.slice(this.committed));
    const last = tokens.findLastIndex((token) => token.type !== "space");
    if (last > 0) this.#commit(tokens.slice(0, last));
    const tail = tokens.slice(Math.max(last, 0));
    if (!this.#growCode(tail[0])) this.tail.replaceChildren(renderBlocks(tail, { streaming: true }));
    this.#placeCursor();
  }

  /** @param {Token[]} tokens */
  #commit(tokens) {
    this.tail.before(renderBlocks(tokens));
    this.tail.replaceChildren();
    for (const token of tokens) this.committed += token.raw.length;
  }

  /**
   * Extends a code block in place, since it only grows; false where that isn't possible.
   * @param {Token|undefined} token
   */
  #growCode(token) {
    if (token?.type !== "code") return false;
    const code = this.tail.querySelector(".code code");
    const node = code?.firstChild;
    const shown = node?.nodeValue?.replace(/\n$/, "");
    if (!node || code.childNodes.length > 1 || !shown || !token.text.startsWith(shown)) return false;
    node.nodeValue = token.text;
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
