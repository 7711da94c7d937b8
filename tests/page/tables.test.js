/** Bars in the code and the formulas of a table. */

import assert from "node:assert/strict";
import { describe, it } from "node:test";

import { parse } from "../../static/chat/text/blocks.js";

/** @param {string} text */
const html = (text) =>
  parse(text)
    .blocks.map((block) => block.html)
    .join("");
/** @param {string} text */
const cells = (text) =>
  [...html(text).matchAll(/<t([hd])[^>]*>(.*?)<\/t\1>/g)].map(([, , cell]) =>
    cell.replace(/<[^>]*>/g, ""),
  );

/** @type {[string, string[]][]} */
const TABLES = [
  ["| a | b |\n|---|---|\n| `x|y` | z |", ["a", "b", "x|y", "z"]],
  ["| a | b |\n|---|---|\n| `x\\|y` | z |", ["a", "b", "x|y", "z"]],
  ["| a | b |\n|---|---|\n| `a || b` | or |", ["a", "b", "a || b", "or"]],
  ["| `a|b` | c |\n|---|---|\n| 1 | 2 |", ["a|b", "c", "1", "2"]],
  ["a | b\n--|--\n``x|`y`` | z", ["a", "b", "x|`y", "z"]],
  ["| a | b |\n|---|---|\n| $P(A|B)$ | 2 |", ["a", "b", "P(A|B)", "2"]],
  ["| a | b |\n|---|---|\n| $|x|$ | `y` |", ["a", "b", "|x|", "y"]],
  ["| a |\n|---|\n| `ls | wc` |", ["a", "ls | wc"]],
  ["- | a | b |\n  |---|---|\n  | `x|y` | z |", ["a", "b", "x|y", "z"]],
  // Where the number of cells is right, a bar is a bar.
  ["| a | b |\n|---|---|\n| ` | ` |", ["a", "b", "`", "`"]],
  ["| a | b |\n|---|---|\n| $5 | $10 |", ["a", "b", "$5", "$10"]],
  ["|a|b|\n|-|-|\n|$5|$6|", ["a", "b", "$5", "$6"]],
  ["| `a` | b |\n|---|---|\n| `x` | $y$ |", ["a", "b", "x", "y"]],
  ["| a | b |\n|---|---|\n| \\`x | y\\` |", ["a", "b", "`x", "y`"]],
];

describe("a table", () => {
  for (const [text, found] of TABLES)
    it(JSON.stringify(text), () => assert.deepEqual(cells(text), found));

  it("keeps its place in the Markdown", () => {
    const text = "| a | b |\n|---|---|\n| `x|y` | z |\n\nNext.";
    const { blocks } = parse(text);
    assert.equal(
      blocks.reduce((sum, { length }) => sum + length, 0),
      text.length,
    );
    assert.equal(blocks.at(-1)?.html, "<p>Next.</p>\n");
  });

  it("is read soon, whatever is in it", () => {
    for (const piece of ["`", "`|", "``|`", "$|", "$a|", "\\|"]) {
      const text = "| a |\n|---|\n" + piece.repeat(Math.floor(1900 / piece.length));
      const begun = process.cpuUsage();
      parse(text);
      const { user } = process.cpuUsage(begun);
      assert.ok(user < 2_000_000, `${piece} took ${user} µs`);
    }
  });
});
