/** The end of a text that is being written, where what it will be can't be told yet. Pure. */

const ROW = /^[ \t>]*\|/;
const SECOND = /^[ \t>]*[|:\- \t]*$/;
// The line may be no row of a table, but a paragraph.
const LONGEST_ROW = 400;
// Half a mark of a footnote, half a tag, and a tag without its partner.
const OPEN =
  /(?:\[(?:\^[^\s[\]]{0,40})?|<(?:sub|sup|kbd|mark)>[^<\n]{0,40}(?:<\/?[a-z]{0,4})?|<\/?[a-z]{0,4}[ \t]?\/?)$/i;

/**
 * How much of the text can be shown: a table begins with its second line, a footnote's mark with its bracket, a tag with its partner.
 * @param {string} text
 */
export function shownLength(text) {
  const start = text.lastIndexOf("\n") + 1;
  const last = text.slice(start);
  const previous = lineBefore(text, start);
  if (ROW.test(last) && !ROW.test(previous)) return last.length > LONGEST_ROW ? text.length : start;
  const isSecond = SECOND.test(last) && ROW.test(previous) && previous.length <= LONGEST_ROW;
  const first = start - previous.length - 1;
  if (isSecond && !ROW.test(lineBefore(text, first))) return first;
  return text.length - (OPEN.exec(last)?.[0].length ?? 0);
}

/**
 * How much can be shown before anything is formatted: up to a table or a footnote, which nobody reads as it is written.
 * @param {string} text
 */
export function plainLength(text) {
  const mark = text.search(/^[ \t>]*\||\[\^/m);
  return Math.min(shownLength(text), mark < 0 ? text.length : mark);
}

/**
 * @param {string} text
 * @param {number} start of a line
 */
const lineBefore = (text, start) =>
  start > 0 ? text.slice(text.lastIndexOf("\n", start - 2) + 1, start - 1) : "";
