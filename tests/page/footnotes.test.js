/** Footnotes in Markdown. */

import assert from "node:assert/strict";
import { describe, it } from "node:test";

import { parse } from "../../static/chat/text/blocks.js";

/** @param {string} text */
const html = (text) =>
  parse(text)
    .blocks.map((block) => block.html)
    .join("");
/** @param {string} text */
const marks = (text) =>
  [...html(text).matchAll(/<code class="footnote-(reference|note)">([^<]*)<\/code>/g)].map(
    ([, kind, name]) => [kind, name],
  );

describe("footnotes", () => {
  it("are found in the text and below it", () => {
    const text = "High water[^1] comes twice[^b].\n\n[^1]: By **tables**.\n[^b]: A day,\n  mostly.";
    assert.deepEqual(marks(text), [
      ["reference", "1"],
      ["reference", "b"],
      ["note", "1"],
      ["note", "b"],
    ]);
    assert.match(html(text), /<strong>tables<\/strong>/);
    assert.match(html(text), /A day,<br> ?mostly\./);
  });

  it("are found after a single letter, without a blank and below their mark, and lose no text", () => {
    assert.equal(html("x[^1]"), '<p>x<code class="footnote-reference">1</code></p>\n');
    assert.equal(html("`[^a]` is"), "<p><code>[^a]</code> is</p>\n");
    for (const text of [
      "[^1]:A day.",
      "[^1]:\n    A day.",
      "[^1]:\nA day.",
      "x[^1]\n\n[^1]:A day.",
    ])
      assert.match(html(text), /note">1<\/code> A day\.<\/p>/, text);
  });

  it("are no link definitions, and links stay links", () => {
    assert.deepEqual(
      marks("A [link][a] and a note[^a].\n\n[a]: https://example.org\n\n[^a]: https://example.com"),
      [
        ["reference", "a"],
        ["note", "a"],
      ],
    );
    assert.match(html("A [link][a].\n\n[a]: https://example.org"), /href="https:\/\/example\.org"/);
  });

  it("leave code and half a mark alone", () => {
    for (const text of ["`[^1]`", "```\n[^1]: x\n```", "[^", "[^ a]", "[^]: x", "a[1]"])
      assert.deepEqual(marks(text), [], text);
  });

  it("escape what looks like HTML", () => {
    assert.deepEqual(marks("x[^<b>]"), [["reference", "&lt;b&gt;"]]);
  });

  it("end soon, whatever they read", () => {
    for (const text of [
      "[^a".repeat(600),
      "[^1]: a\n".repeat(250),
      "[^1]: " + "a\n".repeat(900),
      "[^[^[^".repeat(300),
    ]) {
      const begun = process.cpuUsage();
      parse(text);
      const { user } = process.cpuUsage(begun);
      assert.ok(user < 2_000_000, `${text.slice(0, 8)}… took ${user} µs`);
    }
  });
});
