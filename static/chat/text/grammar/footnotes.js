/**
 * Footnotes in Markdown: `[^1]` in the text, `[^1]: …` below it. Each becomes a `code` element with its name, which is
 * linked once the text is whole and sanitised (`../footnote-links.js`). Pure.
 */

/** @import { MarkedExtension } from "../../../vendor/marked/marked.esm.js" */

export const REFERENCE = "footnote-reference";
export const NOTE = "footnote-note";

// A name has no blank: "[^ a]" is text. Bounds, so that no text makes a search long.
const NAMED = /^\[\^([^\s[\]^]{1,40})\]/;
const NOTED =
  /^ {0,3}\[\^([^\s[\]^]{1,40})\]:[ \t]*(?:\n[ \t]*)?((?:[^\n]+(?:\n(?![ \t]*(?:\n|$)| {0,3}\[\^))?){1,50})(?:\n+|$)/;

/** @type {Record<string, string>} */
const ESCAPES = { "&": "&amp;", "<": "&lt;", ">": "&gt;" };

/**
 * @param {string} kind
 * @param {string} name
 */
const element = (kind, name) =>
  `<code class="${kind}">${name.replace(/[&<>]/g, (character) => ESCAPES[character])}</code>`;

/** @type {MarkedExtension} */
export const footnotes = {
  extensions: [
    {
      name: "footnote",
      level: "block",
      start: (text) => text.match(/\n {0,3}\[\^/)?.index,
      tokenizer(text) {
        const found = NOTED.exec(text);
        if (!found) return undefined;
        return {
          type: "footnote",
          raw: found[0],
          name: found[1],
          tokens: this.lexer.inlineTokens(found[2].trim()),
        };
      },
      renderer({ name, tokens = [] }) {
        return `<p>${element(NOTE, name)} ${this.parser.parseInline(tokens)}</p>\n`;
      },
    },
    {
      name: "footnoteReference",
      level: "inline",
      start: (text) => text.match(/\[\^/)?.index,
      tokenizer(text) {
        const found = NAMED.exec(text);
        return found ? { type: "footnoteReference", raw: found[0], name: found[1] } : undefined;
      },
      renderer: ({ name }) => element(REFERENCE, name),
    },
  ],
};
