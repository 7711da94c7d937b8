/** An element that shows Markdown, whatever is in it: what can't be formatted is shown as it was written. */

import { h } from "../elements/dom.js";
import { canFormat, drawing, parseMarkdown } from "./formatting.js";
import { isProse, plainNote, renderPlain, UNREADABLE } from "./plain.js";
import { Stream } from "./stream.js";

/**
 * @import { Block } from "./blocks.js"
 * @import { Drawn } from "./markdown.js"
 * @import { Parsed } from "./parser.js"
 */

export class FormattedText {
  constructor() {
    this.element = h("div", { class: "md", dir: "auto" });
    /** @type {string|null} the text that was shown last, once it is whole */
    this.shown = null;
    /** @type {Stream|null} */
    this.stream = null;
  }

  /** @param {string} written all that has been written so far; more of it comes */
  write(written) {
    this.shown = null;
    this.stream ??= new Stream(this.element);
    this.stream.write(written);
  }

  /**
   * Links and lists that span blocks are only complete now, so that a streamed text is parsed once more. It stays as
   * it is meanwhile; any other long text is there as it was written until it is formatted.
   * @param {string} text
   */
  show(text) {
    if (text === this.shown) return;
    this.shown = text;
    const { stream } = this;
    const drawn = stream?.blocks ?? [];
    this.stream = null;
    stream?.end(text);
    // The line break is what the formatter puts after a paragraph.
    if (!stream && !canFormat() && isProse(text))
      return this.element.replaceChildren(h("p", {}, text), "\n");
    const parsed = parseMarkdown(text, () => this.shown === text && this.element.isConnected);
    if (!(parsed instanceof Promise)) this.#put(text, parsed, drawn);
    else {
      if (!stream) this.element.replaceChildren(h("div", { class: "plain unparsed" }, text));
      void parsed.then((found) => this.shown === text && this.#put(text, found, drawn));
    }
  }

  /**
   * @param {string} text
   * @param {Parsed} parsed
   * @param {Drawn[]} drawn blocks that are in the element already: those that are the same stay there, with what is
   *   selected and coloured in them
   */
  #put(text, parsed, drawn) {
    if (!("blocks" in parsed))
      return this.element.replaceChildren(plainNote(parsed.plain), renderPlain(text));
    try {
      this.#arrange(parsed.blocks, drawn);
      drawing().linkFootnotes(this.element);
    } catch (error) {
      console.error(error);
      this.#put(text, { plain: UNREADABLE }, []);
    }
  }

  /**
   * @param {Block[]} blocks
   * @param {Drawn[]} drawn
   */
  #arrange(blocks, drawn) {
    /** @type {ChildNode[]} */
    const wanted = [];
    /** @type {Block[]} */
    const fresh = [];
    const render = () =>
      fresh.length && wanted.push(...drawing().renderBlocks(fresh.splice(0)).childNodes);
    for (const [index, block] of blocks.entries()) {
      if (drawn[index]?.html !== block.html) fresh.push(block);
      else {
        render();
        wanted.push(...drawn[index].nodes);
      }
    }
    render();
    const kept = new Set(wanted);
    for (const child of [...this.element.childNodes]) if (!kept.has(child)) child.remove();
    let place = this.element.firstChild;
    for (const node of wanted) {
      if (place === node) place = node.nextSibling;
      else this.element.insertBefore(node, place);
    }
  }
}
