/** Markdown as blocks of HTML: what is formatted, and what is left as it was written, with the reason. */

import assert from "node:assert/strict";
import { describe, it } from "node:test";

import { isQuick, parse } from "../../static/chat/text/blocks.js";
import { LONGEST } from "../../static/chat/text/plain.js";

const table = (columns, rows) =>
  `${"|a".repeat(columns)}|\n${"|-".repeat(columns)}|\n${"a\n".repeat(rows)}`;

describe("blocks", () => {
  it("have their HTML and their place in the Markdown", () => {
    const text = "# One\n\nTwo **three**\n\n```js\nlet four;\n```\n";
    const { blocks } = parse(text);
    assert.deepEqual(
      blocks.filter(({ blank }) => !blank).map(({ html }) => html),
      [
        "<h3>One</h3>\n",
        "<p>Two <strong>three</strong></p>\n",
        '<pre><code class="language-js">let four;\n</code></pre>\n',
      ],
    );
    assert.deepEqual(
      blocks.map(({ code }) => code).filter((code) => code !== null),
      ["let four;"],
    );
    assert.equal(
      blocks.reduce((sum, { length }) => sum + length, 0),
      text.length,
    );
  });

  it("take links from definitions that follow", () => {
    assert.equal(
      parse("[a][b]\n\n[b]: https://example.org").blocks[0].html,
      '<p><a href="https://example.org">a</a></p>\n',
    );
  });

  it("show HTML as text", () => {
    assert.equal(parse("<b>x</b> <i>").blocks[0].html, "<p>&lt;b&gt;x&lt;/b&gt; &lt;i&gt;</p>\n");
  });
});

describe("a text that can't be formatted has the reason", () => {
  const reasons = {
    "it is nested too deeply to be formatted.": [
      "> ".repeat(60) + "x",
      "> ".repeat(3_000) + "x",
      "- ".repeat(3_000) + "x",
      "> - ".repeat(20_000) + "x",
      "1. ".repeat(2_000) + "x",
      Array.from({ length: 60 }, (_, level) => `${"  ".repeat(level)}- x`).join("\n"),
    ],
    "it has too many parts to be formatted.": [
      table(250, 490),
      "- a\n".repeat(10_001),
      "`a` ".repeat(10_001),
    ],
    "it is too long to be formatted.": ["a".repeat(LONGEST + 1)],
  };
  for (const [reason, texts] of Object.entries(reasons)) {
    for (const text of texts) {
      it(`${reason} ${JSON.stringify(text.slice(0, 12))} ${text.length}`, () =>
        assert.deepEqual(parse(text), { plain: reason }));
    }
  }
});

describe("within the bounds a text is formatted", () => {
  const texts = {
    "fifty quotes in each other": "> ".repeat(49) + "x",
    "a line of dashes": "- ".repeat(1_000),
    "arrows in code": "```\n" + ">".repeat(1_000) + "\n```",
    "the longest": "word ".repeat(LONGEST / 5),
    "a table of 1,600 rows": "|a|b|\n|-|-|\n" + "|a|b|\n".repeat(1_600),
  };
  for (const [name, text] of Object.entries(texts))
    it(name, () => assert.ok("blocks" in parse(text)));
});

describe("the page itself parses", () => {
  it("short texts", () => assert.ok(isQuick("word ".repeat(400))));
  it("no longer ones", () => assert.ok(!isQuick("word ".repeat(401))));
  it("no short table that makes many cells", () => assert.ok(!isQuick(table(250, 490))));
  it("tables of an ordinary size", () =>
    assert.ok(isQuick("|a|b|c|\n|-|-|-|\n" + "|1|2|3|\n".repeat(100))));
});
