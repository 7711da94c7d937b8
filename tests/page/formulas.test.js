/** Mathematics in Markdown. */

import assert from "node:assert/strict";
import { describe, it } from "node:test";

import { parse } from "../../static/chat/text/blocks.js";

/** @param {string} text */
const html = (text) =>
  parse(text)
    .blocks.map((block) => block.html)
    .join("");
/** @param {string} text */
const formulas = (text) =>
  [...html(text).matchAll(/<code class="math-(inline|display)">([^<]*)<\/code>/g)].map(
    ([, kind, source]) => [kind, source],
  );

describe("mathematics", () => {
  it("keeps every character of a formula, however it is marked", () => {
    assert.deepEqual(formulas("So \\(a_1^2 * b_1^*\\,c\\) holds."), [
      ["inline", "a_1^2 * b_1^*\\,c"],
    ]);
    assert.deepEqual(formulas("So $a_1 \\, b_2$ holds."), [["inline", "a_1 \\, b_2"]]);
    assert.deepEqual(formulas("$$\n\\frac{a}{b} = \\sqrt{2}\n$$"), [
      ["display", "\\frac{a}{b} = \\sqrt{2}"],
    ]);
    assert.deepEqual(formulas("\\[\nx\n= y\n- z\n\\]\n\nThen."), [["display", "x\n= y\n- z"]]);
    assert.deepEqual(formulas("Inside: $$x_1$$ and on."), [["display", "x_1"]]);
    assert.deepEqual(formulas("```math\nx_1\n```"), [["display", "x_1"]]);
    assert.deepEqual(formulas("> ~~~math\n> x_1\n> ~~~"), [["display", "x_1"]]);
    assert.deepEqual(formulas("- ```math\n  x_1\n  ```\n- b"), [["display", "x_1"]]);
    assert.deepEqual(formulas("```math\nx_1"), []);
    assert.deepEqual(formulas("| a | b |\n|---|---|\n| $x_1$ | 2 |"), [["inline", "x_1"]]);
  });

  it("escapes what looks like HTML", () => {
    assert.deepEqual(formulas("$a < b > c & d$"), [["inline", "a &lt; b &gt; c &amp; d"]]);
    assert.match(html("$<img src=x onerror=alert(1)>$"), /&lt;img/);
  });

  it("leaves prices, code and half a formula alone", () => {
    for (const text of [
      "It costs $5 and $10.",
      "From $5-$10, or US$ 3.",
      "`$a$` and `\\(b\\)`",
      "```\n$a$\n```",
      "$$\nx = 1",
      "\\(a",
      "A \\$5\\$ note",
    ]) {
      assert.deepEqual(formulas(text), [], text);
    }
  });

  it("ends soon, whatever it reads", () => {
    for (const text of [
      "$".repeat(2000),
      "\\(".repeat(1000),
      "$a".repeat(1000),
      "\\[\n".repeat(600),
      "$$\\".repeat(600),
    ]) {
      const begun = process.cpuUsage();
      parse(text);
      const { user } = process.cpuUsage(begun);
      assert.ok(user < 2_000_000, `${text.slice(0, 8)}… took ${user} µs`);
    }
  });
});
