/** The few HTML tags that models use where Markdown has no mark. All other HTML is shown as text. Pure. */

/** @import { MarkedExtension } from "../../../vendor/marked/marked.esm.js" */

// A bound, so that no text makes a search long; within a paragraph, and never with attributes.
const PAIR = /^<(sub|sup|kbd|mark)>((?:(?!<\/?\1>)(?:[^\n]|\n(?!\s*\n))){1,500}?)<\/\1>/i;
// A browser reads "</br>" as one too. With the end of its line it is one break.
const BREAK = /^<\/?br[ \t]*\/?>(?:[ \t]*\n)?/i;
const LINE = /^ {0,3}<(?:\/?br[ \t]*\/?|\/?(?:sub|sup|kbd|mark))>/i;

/** @type {MarkedExtension} */
export const tags = {
  extensions: [
    {
      name: "tag",
      level: "inline",
      start: (text) => text.match(/<(?:\/?br|sub|sup|kbd|mark)/i)?.index,
      tokenizer(text) {
        const pair = PAIR.exec(text);
        if (pair)
          return {
            type: "tag",
            raw: pair[0],
            tag: pair[1].toLowerCase(),
            tokens: this.lexer.inlineTokens(pair[2]),
          };
        const line = BREAK.exec(text);
        return line ? { type: "tag", raw: line[0], tag: "br" } : undefined;
      },
      renderer({ tag, tokens }) {
        return tokens ? `<${tag}>${this.parser.parseInline(tokens)}</${tag}>` : "<br>";
      },
    },
  ],
  tokenizer: {
    // On a line of its own it would begin a block in which Markdown isn't read.
    html: (text) => (LINE.test(text) ? undefined : false),
  },
};
