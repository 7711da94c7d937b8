/**
 * Emphasis in Chinese, Japanese and Korean, and in Thai and its neighbours: their writing has no blanks, on which
 * Markdown's rules rely. Pure.
 */

import { Tokenizer } from "../../../vendor/marked/marked.esm.js";

/** @import { MarkedExtension } from "../../../vendor/marked/marked.esm.js" */

// CommonMark asks for a blank outside of "**" where punctuation is inside. As markdown-cjk-friendly proposes for the
// standard: CJK punctuation counts as a letter there, and beside a CJK character other punctuation does too.
export const WIDE =
  "\\u3001-\\u303f\\u30a0\\u30fb\\u3200-\\u33ff\\ufe10-\\ufe1f\\ufe30-\\ufe6f\\uff01-\\uff0f\\uff1a-\\uff20\\uff3b-\\uff40\\uff5b-\\uff65\\uffe0-\\uffe6";
export const LETTER =
  "\\p{Script=Han}\\p{Script=Hiragana}\\p{Script=Katakana}\\p{Script=Hangul}\\p{Script=Bopomofo}\\p{Script=Thai}\\p{Script=Lao}\\p{Script=Khmer}\\p{Script=Myanmar}\\u30fc\\uff10-\\uff19\\uff21-\\uff3a\\uff41-\\uff5a";
const SIGN = new RegExp(`[${WIDE}]`);
const CJK = new RegExp(`[${WIDE}${LETTER}]`, "u");
const PUNCTUATION = /[\p{P}\p{S}]/u;
const RUN = /\*+|~+/g;
// What stands for punctuation where only runs of "*" and "~" are matched.
const STANDS_FOR_SIGN = "中";
const STANDS_FOR_PUNCTUATION = "a";
// To "*" it is a letter, and to "_", of which it is the neighbour too, punctuation.
const STANDS_FOR_BOTH = "~";

/**
 * The code point that ends at `index`, and the one that begins there; "" at an end of the text.
 * @param {string} text
 * @param {number} index
 */
const before = (text, index) => [...text.slice(Math.max(0, index - 2), index)].at(-1) ?? "";
/**
 * @param {string} text
 * @param {number} index
 */
const after = (text, index) => [...text.slice(index, index + 2)][0] ?? "";

/**
 * The text in which marked looks for the ends of emphasis; of the same length.
 * @param {string} text
 */
function maskMarks(text) {
  /** @type {string[]} */
  const pieces = [];
  let done = 0;
  /**
   * @param {number} at
   * @param {string} sign
   * @param {string} other what is on the run's other side
   */
  const put = (at, sign, other) => {
    if (at < done || !sign || sign === "*" || sign === "~" || sign === "_") return;
    const isWide = SIGN.test(sign);
    if (!isWide && !(PUNCTUATION.test(sign) && CJK.test(other))) return;
    const besideUnderscore = text[at - 1] === "_" || text[at + sign.length] === "_";
    const stands = besideUnderscore
      ? STANDS_FOR_BOTH
      : isWide
        ? STANDS_FOR_SIGN
        : STANDS_FOR_PUNCTUATION;
    pieces.push(text.slice(done, at), stands.repeat(sign.length));
    done = at + sign.length;
  };
  for (const { 0: run, index } of text.matchAll(RUN)) {
    const end = index + run.length;
    const [left, right] = [before(text, index), after(text, end)];
    put(index - left.length, left, right);
    put(end, right, left);
  }
  return pieces.length ? pieces.join("") + text.slice(done) : text;
}

/**
 * What marked is told to stand before an opening run: nothing, where the run may open beside CJK characters.
 * @param {string} text from the run on
 * @param {string} masked
 * @param {string} previous
 */
function previousOf(text, masked, previous) {
  const mark = text[0];
  if (!previous || previous === mark) return previous;
  const next = after(text, /** @type {RegExpExecArray} */ (/^(?:\*+|~+)/.exec(text))[0].length);
  if (SIGN.test(next)) return "";
  return PUNCTUATION.test(next) && CJK.test(before(masked, masked.length - text.length))
    ? ""
    : previous;
}

/** @param {string} text */
export const hasCjk = (text) => CJK.test(text);

/** @type {MarkedExtension} for texts that have such characters: marked takes a little longer with it */
export const emphasis = {
  hooks: { emStrongMask: maskMarks },
  tokenizer: {
    emStrong(text, masked, previous = "") {
      if (text[0] !== "*") return false;
      return Tokenizer.prototype.emStrong.call(
        this,
        text,
        masked,
        previousOf(text, masked, previous),
      );
    },
    del(text, masked, previous = "") {
      if (!text.startsWith("~~")) return false;
      return Tokenizer.prototype.del.call(this, text, masked, previousOf(text, masked, previous));
    },
  },
};
