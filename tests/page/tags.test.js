/** The few HTML tags that are more than text. */

import assert from "node:assert/strict";
import { describe, it } from "node:test";

import { parse } from "../../static/chat/text/blocks.js";

/** @param {string} text */
const html = (text) =>
  parse(text)
    .blocks.map((block) => block.html)
    .join("")
    .trim();

describe("tags", () => {
  it("break lines, lower, raise and name keys", () => {
    assert.equal(
      html("one<br>two<br/>three<br />four<BR>"),
      "<p>one<br>two<br>three<br>four<br></p>",
    );
    assert.equal(html("a <mark>b **c**</mark>"), "<p>a <mark>b <strong>c</strong></mark></p>");
    assert.equal(html("one</br>two<br>\nthree<br> \nfour"), "<p>one<br>two<br>three<br>four</p>");
    assert.equal(
      html("H<sub>2</sub>O, x<sup>*n*</sup>, <kbd>Ctrl</kbd>+<KBD>C</KBD>"),
      "<p>H<sub>2</sub>O, x<sup><em>n</em></sup>, <kbd>Ctrl</kbd>+<kbd>C</kbd></p>",
    );
    assert.equal(html("<sup>a<sub>b</sub></sup>"), "<p><sup>a<sub>b</sub></sup></p>");
    assert.equal(html("**x<sub>2</sub>**"), "<p><strong>x<sub>2</sub></strong></p>");
  });

  it("do so in tables, lists, headings, quotes and at a line's beginning", () => {
    assert.match(
      html("| a |\n|---|\n| one<br>two<sub>3</sub> |"),
      /<td>one<br>two<sub>3<\/sub><\/td>/,
    );
    assert.match(html("- one<br>two"), /one<br>two/);
    assert.match(html("# x<sup>2</sup>"), /x<sup>2<\/sup>/);
    assert.match(html("> <kbd>Esc</kbd>"), /<kbd>Esc<\/kbd>/);
    assert.match(html("<br>\nand **bold**"), /<strong>bold<\/strong>/);
    assert.match(html("<kbd>\nx</kbd> **y**"), /<strong>y<\/strong>/);
  });

  it("stay letters in code, with attributes, without their partner, and when they are others", () => {
    for (const text of [
      "`<br>`",
      "```\n<br><sub>x</sub>\n```",
      "<br class=a>",
      '<sub onclick="x">a</sub>',
      "<sub>x",
      "x</sub>",
      "**x<sub>2**</sub>",
      "<sub>x</sup>",
      "<b>x</b>",
      "<u>x</u>",
      "<script>x</script>",
      "<details>\n<summary>x</summary>\n</details>",
      "<img src=x onerror=alert(1)>",
      "<sub\n>x</sub>",
      "\\<br>",
      "<bra>",
      "<sub></sub>",
      "<subx>a</subx>",
    ])
      assert.doesNotMatch(html(text), /<(?:br|sub|sup|kbd|b|u|script|details|img)\b/, text);
  });

  it("show what is in them as text", () => {
    assert.equal(
      html("<sub><img src=x onerror=alert(1)></sub>"),
      "<p><sub>&lt;img src=x onerror=alert(1)&gt;</sub></p>",
    );
    assert.equal(html("<kbd><</kbd>"), "<p><kbd>&lt;</kbd></p>");
  });

  it("end soon, whatever they are", () => {
    for (const piece of [
      "<sub>",
      "</sub>",
      "<sub></sup>",
      "<br>",
      "<sub><sup>",
      "<kbd>a",
      "<br ",
    ]) {
      const text = piece.repeat(Math.floor(2000 / piece.length));
      const begun = process.cpuUsage();
      parse(text);
      const { user } = process.cpuUsage(begun);
      assert.ok(user < 2_000_000, `${piece} took ${user} µs`);
    }
  });
});
