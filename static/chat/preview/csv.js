/** A table as text that a spreadsheet reads. Pure. */

// A cell that begins so is a formula, unless it is a number.
const FORMULA = /^[\s]*[=+\-@]/;
const NUMBER = /^[+-][\d.,\s]*\d\s?%?$/;

/**
 * An apostrophe before what a spreadsheet would run: a model wrote it, and a formula can send the sheet elsewhere.
 * @param {string} cell
 */
const guard = (cell) => (FORMULA.test(cell) && !NUMBER.test(cell) ? `'${cell}` : cell);

/**
 * RFC 4180, with the byte order mark without which Excel misreads every accent.
 * @param {string[][]} rows
 */
export const toCsv = (rows) =>
  `\uFEFF${rows.map((row) => `${row.map(quote).join(",")}\r\n`).join("")}`;

/** @param {string} cell */
function quote(cell) {
  const safe = guard(cell);
  return /[",\r\n]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
}

/**
 * For the clipboard: a spreadsheet puts each cell where it belongs.
 * @param {string[][]} rows
 */
export const toTabs = (rows) =>
  rows.map((row) => row.map((cell) => guard(cell).replace(/\s+/gu, " ")).join("\t")).join("\n");
