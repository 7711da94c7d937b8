/** Tables whose code and formulas have bars that nobody escaped: they would be cells, and what is too much is lost. Pure. */

import { Tokenizer } from "../../../vendor/marked/marked.esm.js";

/** @import { MarkedExtension } from "../../../vendor/marked/marked.esm.js" */

const HOLDS_BARS = /(`+)(?!`)[^\n]*?[^`]\1(?!`)|\$[^\s$](?:[^$\n]*[^\s$])?\$/g;

/**
 * How many cells a row has.
 * @param {string} row
 */
const cells = (row) =>
  row
    .replace(/\\\|/g, "")
    .replace(/^[\s>]*\||\|\s*$/g, "")
    .split("|").length;

/**
 * The row with the bars escaped that are in code and formulas, where it has too many.
 * @param {string} row
 * @param {number} columns
 */
const escaped = (row, columns) =>
  cells(row) > columns ? row.replace(HOLDS_BARS, (part) => part.replace(/\\?\|/g, "\\|")) : row;

/** @type {MarkedExtension} */
export const tables = {
  tokenizer: {
    table(text) {
      const written = this.rules.block.table.exec(text)?.[0];
      if (!written || !/[`$]/.test(written)) return false;
      const rows = written.split("\n");
      const columns = cells(rows[1]);
      const token = Tokenizer.prototype.table.call(
        this,
        rows.map((row) => escaped(row, columns)).join("\n"),
      );
      return token && { ...token, raw: written };
    },
  },
};
