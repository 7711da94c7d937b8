/**
 * Mathematics in Markdown: found before Markdown's own rules can take its backslashes, underscores and stars away. A
 * formula becomes a `code` element with its source, which is drawn once the text is sanitised (`../maths.js`). Pure.
 */

/** @import { MarkedExtension, Tokens } from "../../../vendor/marked/marked.esm.js" */

export const INLINE = "math-inline";
export const DISPLAY = "math-display";

// Bounds, so that no text makes a search long: a formula of a page has some hundred characters.
const BLOCK =
  /^ {0,3}(?:\$\$((?:\\[^]|[^\\$]){1,4000}?)\$\$|\\\[([^]{1,4000}?)\\\])[ \t]*(?:\n+|$)/;
const SHOWN =
  /^(?:\$\$((?:\\[^]|[^\\$\n]|\n(?!\n)){1,2000}?)\$\$|\\\[((?:[^\n]|\n(?!\n)){1,2000}?)\\\])/;
const BRACKETS = /^\\\(((?:[^\n]|\n(?!\n)){1,1000}?)\\\)/;
// As Pandoc: no blank inside the dollars. What must not stand beside them: `isFormula`.
const DOLLARS = /^\$(?![\s$])((?:\\[^\n]|[^\\$\n]){1,500}?)(?<![\s\\])\$(?!\$)/;

// The end of a block of code that begins with a fence.
const CLOSED = /\n[ \t>]*(?:`{3,}|~{3,})\s*$/;
// "$10, or US$": words, and nothing that only a formula has.
const PROSE = /^[^\\^_={}]*[ ,;][A-Za-z]{2,}[^\\^_={}]*$/;
// "\[1\]", "\[3, 5\]", "\[not a link\]": numbers and words in brackets that only had to be escaped.
const BRACKETED =
  /^(?:\d+(?:[,–-] ?\d+)*|[^\\^_={}+*<>|\n]*[A-Za-z]{3,} [A-Za-z][^\\^_={}+*<>|\n]*)$/;
// It begins with a command or an exponent, as in "10$^\circ$C", or is an index, as in "H$_2$O": so is nothing else.
const SURE = /^(?:\\[A-Za-z,]|\^|_(?:\d+|\{[^{}]+\})$)/;
// What a formula has before a unit, as in "$25^\circ$C": a group or a command, raised or lowered.
const RAISED = /\^[\\{]|_\{/;
// As in "$n$th" and "$f$(x)": a formula of one sign, with what a sentence puts directly after it.
const SIGN = /^[A-Za-z]'?$/;
const ENDING = /^(?:st|nd|rd|th|s|es)(?![A-Za-z0-9_])|^\(/;
// `${HOME}`, `$(pwd)`, `$MY_NAME$`, `$_GET['a']`, `$env:PATH`, `$user->name`, `$#`: variables of shells and languages.
const VARIABLE =
  /^(?:\{\w{2,}[}:]|\([a-z]{2,}[ )]|[A-Za-z]{2,}(?:_[A-Za-z]{2,})+$|_[A-Z]|[A-Za-z_]\w*(?:->|::|\[['"])|[A-Za-z]{2,}:\w|\.[A-Za-z])|^[^\p{L}\p{N}_\\]+$|["`/\\;:@&]$/u;
// Marks of Chinese and Japanese sentences.
const SENTENCE = /[，。、；：！？「」『』（）]/;

/** @type {Record<string, string>} */
const ESCAPES = { "&": "&amp;", "<": "&lt;", ">": "&gt;" };

/**
 * @param {string} name
 * @param {string} source
 */
const element = (name, source) =>
  `<code class="${name}">${source.trim().replace(/[&<>]/g, (character) => ESCAPES[character])}</code>`;

/**
 * Whether what stands between two dollars is a formula: not prices, and not the text between two variables of a shell.
 * @param {string} source
 * @param {string} previous what was written before it
 * @param {string} next what follows it
 */
function isFormula(source, previous, next) {
  if (SURE.test(source)) return true;
  if (PROSE.test(source) || VARIABLE.test(source) || SENTENCE.test(source) || !isBalanced(source))
    return false;
  if (/[A-Za-z0-9_]$/.test(previous)) return false;
  if (/^[A-Za-z_({]/.test(next))
    return SIGN.test(source)
      ? ENDING.test(next)
      : RAISED.test(source) || (/\^/.test(source) && /^[a-z(]/.test(next));
  return !/^\d/.test(next);
}

/**
 * Brackets of a kind and of another, as intervals have them.
 * @param {string} source
 */
function isBalanced(source) {
  let open = 0;
  for (const [sign] of source.matchAll(/\\[^]|[()[\]{}]/g)) {
    if ("([{".includes(sign)) open += 1;
    else if (")]}".includes(sign) && (open -= 1) < 0) return false;
  }
  return open === 0;
}

/** @type {MarkedExtension} */
export const formulas = {
  extensions: [
    {
      name: "formulaBlock",
      level: "block",
      start: (text) => text.match(/\n {0,3}(?:\$\$|\\\[)/)?.index,
      tokenizer(text) {
        const found = BLOCK.exec(text);
        if (
          !found ||
          BRACKETED.test(found[2]) ||
          (found[1] && !found[1].startsWith("\n") && PROSE.test(found[1]))
        )
          return undefined;
        return { type: "formulaBlock", raw: found[0], source: found[1] ?? found[2] };
      },
      renderer: ({ source }) => `<p>${element(DISPLAY, source)}</p>\n`,
    },
    {
      name: "formula",
      level: "inline",
      start: (text) => text.match(/\$|\\[([]/)?.index,
      tokenizer(text, before) {
        const shown = SHOWN.exec(text);
        // "$$" is a shell's own number, and a makefile's dollar.
        if (shown && BRACKETED.test(shown[2])) return undefined;
        if (shown?.[1] && (PROSE.test(shown[1]) || /^\w/.test(text.slice(shown[0].length))))
          return undefined;
        if (shown)
          return { type: "formula", raw: shown[0], source: shown[1] ?? shown[2], display: true };
        const found = BRACKETS.exec(text) ?? DOLLARS.exec(text);
        if (!found) return undefined;
        const [raw, source] = found;
        const isOne =
          !raw.startsWith("$") ||
          isFormula(source, before.at(-1)?.raw ?? "", text.slice(raw.length));
        return isOne ? { type: "formula", raw, source, display: false } : undefined;
      },
      renderer: ({ source, display }) => element(display ? DISPLAY : INLINE, source),
    },
  ],
  renderer: {
    /**
     * While it is being written it is code, instead of a hundred formulas that begin alike.
     * @param {Tokens.Code} token
     */
    code: ({ lang, text, raw }) =>
      lang === "math" && CLOSED.test(raw) ? `<p>${element(DISPLAY, text)}</p>\n` : false,
  },
};
