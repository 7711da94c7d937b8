/**
 * Mathematics in Markdown: found before Markdown's own rules can take its backslashes, underscores and stars away. A
 * formula becomes a `code` element with its source, which is drawn once the text is sanitised (`maths.js`). Pure.
 */

/** @import { MarkedExtension, Tokens } from "../../vendor/marked/marked.esm.js" */

export const INLINE = "math-inline";
export const DISPLAY = "math-display";

// Bounds, so that no text makes a search long: a formula of a page has some hundred characters.
const BLOCK = /^ {0,3}(?:\$\$((?:\\[^]|[^\\$]){1,4000}?)\$\$|\\\[([^]{1,4000}?)\\\])[ \t]*(?:\n+|$)/;
const SHOWN = /^(?:\$\$((?:\\[^]|[^\\$\n]|\n(?!\n)){1,2000}?)\$\$|\\\[((?:[^\n]|\n(?!\n)){1,2000}?)\\\])/;
const BRACKETS = /^\\\(((?:[^\n]|\n(?!\n)){1,1000}?)\\\)/;
// No blank inside the dollars and no digit after them, so that "$5 and $10" are prices.
const DOLLARS = /^\$(?![\s$])((?:\\[^\n]|[^\\$\n]){1,500}?)(?<![\s\\])\$(?![\d$])/;

// The end of a block of code that begins with a fence.
const CLOSED = /\n[ \t>]*(?:`{3,}|~{3,})\s*$/;
// "$10, or US$": words, and nothing that only a formula has.
const PROSE = /^[^\\^_={}]*[ ,][A-Za-z]{2,}[^\\^_={}]*$/;

/** @type {Record<string, string>} */
const ESCAPES = { "&": "&amp;", "<": "&lt;", ">": "&gt;" };

/**
 * @param {string} name
 * @param {string} source
 */
const element = (name, source) =>
  `<code class="${name}">${source.trim().replace(/[&<>]/g, (character) => ESCAPES[character])}</code>`;

/** @type {MarkedExtension} */
export const formulas = {
  extensions: [
    {
      name: "formulaBlock",
      level: "block",
      start: (text) => text.match(/(?:^|\n) {0,3}(?:\$\$|\\\[)/)?.index,
      tokenizer(text) {
        const found = BLOCK.exec(text);
        return found ? { type: "formulaBlock", raw: found[0], source: found[1] ?? found[2] } : undefined;
      },
      renderer: ({ source }) => `<p>${element(DISPLAY, source)}</p>\n`,
    },
    {
      name: "formula",
      level: "inline",
      start: (text) => text.match(/\$|\\[([]/)?.index,
      tokenizer(text) {
        const shown = SHOWN.exec(text);
        if (shown) return { type: "formula", raw: shown[0], source: shown[1] ?? shown[2], display: true };
        const found = BRACKETS.exec(text) ?? DOLLARS.exec(text);
        if (found && text.startsWith("$") && PROSE.test(found[1])) return undefined;
        return found ? { type: "formula", raw: found[0], source: found[1], display: false } : undefined;
      },
      renderer: ({ source, display }) => element(display ? DISPLAY : INLINE, source),
    },
  ],
  renderer: {
    /**
     * While it is being written it is code, instead of a hundred formulas that begin alike.
     * @param {Tokens.Code} token
     */
    code: ({ lang, text, raw }) => (lang === "math" && CLOSED.test(raw) ? `<p>${element(DISPLAY, text)}</p>\n` : false),
  },
};
