/** What is shown of a text that is being written. */

import assert from "node:assert/strict";
import { describe, it } from "node:test";

import { parse } from "../../static/chat/text/blocks.js";
import { plainLength, shownLength } from "../../static/chat/text/unfinished.js";

/** @param {string} text */
const shown = (text) => text.slice(0, shownLength(text));

describe("the end of a text that is being written", () => {
  it("shows no row of a table until the second line has come", () => {
    const text =
      "The ports:\n\n| Port | Tide |\n|:-----|-----:|\n| Aden | 2.1 |\n\nThat's all | of them.";
    for (let length = 0; length <= text.length; length += 1) {
      const { blocks } = parse(shown(text.slice(0, length)));
      const html = blocks.map((block) => block.html).join("");
      assert.ok(!/<p>[^<]*\|/.test(html) || html.includes("all |"), `${length}: ${html}`);
    }
    assert.equal(shown(text), text);
  });

  it("does so in quotes and lists too", () => {
    for (const held of [
      "| a",
      "> | a |\n> |--",
      "- x\n\n  | a | b |\n  |-",
      "| a |\n",
      "| a |\n|---|",
    ]) {
      assert.ok(!shown(held).includes("|"), held);
    }
  });

  it("shows a line that turns out to be none, and rows of a table as they are written", () => {
    for (const text of [
      "|x| is it.\nAnd",
      "| a |\n|---|\n",
      "| a |\n|---|\n| b",
      "a | b",
      "|x| " + "word ".repeat(100),
      "| a\n\n",
    ]) {
      assert.equal(shown(text), text);
    }
  });

  it("shows no half mark of a footnote", () => {
    assert.equal(shown("High water[^"), "High water");
    assert.equal(shown("High water[^12"), "High water");
    for (const text of ["High water[^1]", "a [link", "[^ a"]) assert.equal(shown(text), text);
  });

  it("shows no half tag, and a pair of them once it is whole", () => {
    const text = "One<br>two, H<sub>2</sub>O, <kbd>Ctrl</kbd> and <mark>so</mark> </br> 1 < 2.";
    for (let length = 0; length <= text.length; length += 1) {
      const { blocks } = parse(shown(text.slice(0, length)));
      const html = blocks.map((block) => block.html).join("");
      assert.ok(!/&lt;(?! 2)/.test(html), `${length}: ${html}`);
    }
    assert.equal(shown(text), text);
    for (const whole of ["a < b", "x <y and", "List<String> x", "<sub>" + "word ".repeat(9)])
      assert.equal(shown(whole), whole);
  });
});

describe("what isn't formatted yet", () => {
  it("is shown up to a table or a footnote", () => {
    assert.equal(plainLength("one\ntwo **three**"), 17);
    assert.equal(plainLength("one\n\n| a | b |\n|---|---|\n| c"), 5);
    assert.equal(plainLength("one[^1] and more"), 3);
    assert.equal(plainLength("a | b"), 5);
  });
});
