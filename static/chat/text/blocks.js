/** Markdown as blocks of HTML that isn't sanitised yet. Pure: the page and its worker run the same code. */

import { Marked } from "../../vendor/marked/marked.esm.js";
import { say } from "../words/say.js";
import { addresses } from "./grammar/addresses.js";
import { emphasis, hasCjk } from "./grammar/cjk.js";
import { footnotes } from "./grammar/footnotes.js";
import { formulas } from "./grammar/formulas.js";
import { tables } from "./grammar/tables.js";
import { tags } from "./grammar/tags.js";
import { LONGEST, UNREADABLE } from "./plain.js";

/** @import { MarkedExtension, Token } from "../../vendor/marked/marked.esm.js" */

/**
 * `length` counts the characters of Markdown that it was made from; `code` is a code block's text.
 * @typedef {{html: string, length: number, blank: boolean, code: string|null}} Block
 * @typedef {{blocks: Block[]}} Formatted
 * @typedef {{plain: string}} Unformatted with the reason, which completes "Shown as plain text: …"
 */

// Sanitising and drawing 10,000 elements takes Chromium 0.2 s; an answer of ten pages has some 500.
const MOST_ELEMENTS = 10_000;
const MOST_HTML = 2_000_000;
// Chromium flattens what is nested deeper than 512; marked itself gives up at some 1,500.
const DEEPEST = 50;
// marked takes 35 ms for the worst 2,000 characters we know, `*a_` again and again, and time grows with their square.
const QUICK = 2_000;
// A row of a table gets all columns of its head: 2,000 characters make 125,000 cells.
const QUICK_CELLS = 4_000;

const TOO_LONG = say("it is too long to be formatted.");
const TOO_DEEP = say("it is nested too deeply to be formatted.");
const TOO_MANY = say("it has too many parts to be formatted.");

/** @type {Record<string, string>} */
const ESCAPES = { "&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;", "'": "&#39;" };

/** @param {string} text */
const escape = (text) => text.replace(/[&<>"']/g, (character) => ESCAPES[character]);

/**
 * The host of a link, as people see it: "example.org", or the address itself; of data its type.
 * @param {string} href
 */
function host(href) {
  try {
    const url = new URL(href);
    return url.host || url.pathname.split(/[;,]/)[0];
  } catch {
    return href;
  }
}

/** @type {MarkedExtension} */
const markdown = {
  gfm: true,
  breaks: true,
  tokenizer: {
    // One tilde means "about" and "to" in most languages: "3~5, 10~20".
    del: (text) => (text.startsWith("~~") ? false : undefined),
  },
  renderer: {
    // The page has its own headings above these.
    heading({ tokens, depth }) {
      const level = Math.min(depth + 2, 6);
      return `<h${level}>${this.parser.parseInline(tokens)}</h${level}>\n`;
    },
    html({ text, block }) {
      return block ? `<p>${escape(text.trim())}</p>\n` : escape(text);
    },
    // A picture in it is none of its own. The browser escapes the address, and would read an escaped host of IPv6 as none.
    // Its title is where it leads (`markdown.js`).
    link({ href, tokens }) {
      return `<a href="${escape(href)}">${this.parser.parseInline(tokens).replace(/<\/?a\b[^>]*>/g, "")}</a>`;
    },
    image({ href, text }) {
      const label = escape(
        say("Image: {text} ({host})", {
          text: text || say("without a description"),
          host: host(href),
        }),
      );
      return `<a href="${escape(href)}">${label}</a>`;
    },
    checkbox({ checked }) {
      return checked ? "☑ " : "☐ ";
    },
  },
};

const marked = new Marked(markdown, formulas, footnotes, tables, tags, addresses);
const markedForCjk = new Marked(markdown, formulas, footnotes, tables, tags, addresses, emphasis);

/**
 * Whether the page itself may parse the text: whatever it says, that takes a moment only.
 * @param {string} text
 */
export function isQuick(text) {
  if (text.length > QUICK) return false;
  const lines = text.split("\n");
  return lines.length * Math.max(...lines.map((line) => line.split("|").length)) <= QUICK_CELLS;
}

/**
 * Never throws: what can't be formatted has a reason. A text that isn't quick takes seconds or minutes where somebody
 * wants it to, so it is parsed in the worker.
 * @param {string} text
 * @returns {Formatted|Unformatted}
 */
export function parse(text) {
  if (text.length > LONGEST) return { plain: TOO_LONG };
  try {
    const tokens = (hasCjk(text) ? markedForCjk : marked).lexer(text);
    const blocks = tokens.map(toBlock);
    const plain = whyNot(blocks);
    return plain ? { plain } : { blocks };
  } catch (error) {
    // marked and its renderer call themselves at each level.
    return { plain: error instanceof RangeError ? TOO_DEEP : UNREADABLE };
  }
}

/**
 * @param {Token} token
 * @returns {Block}
 */
const toBlock = (token) => ({
  html: marked.parser([token]),
  length: token.raw.length,
  blank: token.type === "space",
  code: token.type === "code" ? token.text : null,
});

/** @param {Block[]} blocks */
function whyNot(blocks) {
  let [length, elements, depth, deepest] = [0, 0, 0, 0];
  for (const { html } of blocks) {
    length += html.length;
    if (length > MOST_HTML) return TOO_MANY;
    // Text and attributes are escaped, so that each "<" begins a tag.
    for (const [, closes, name] of html.matchAll(/<(\/?)([a-z0-9]+)/g)) {
      if (closes) depth -= 1;
      else if (name !== "br" && name !== "hr") deepest = Math.max(deepest, (depth += 1));
      if (!closes) elements += 1;
    }
  }
  return deepest > DEEPEST ? TOO_DEEP : elements > MOST_ELEMENTS ? TOO_MANY : "";
}
