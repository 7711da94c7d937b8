/** Text that is shown without what formats Markdown. */

import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import { describe, it } from "node:test";

import { parse } from "../../static/chat/text/blocks.js";
import { isProse } from "../../static/chat/text/plain.js";

const agents = new URL("../../agents/", import.meta.url);
const greetings = readdirSync(agents)
  .map((slug) => JSON.parse(readFileSync(new URL(`${slug}/template.json`, agents), "utf8")))
  .flatMap(({ chatSettings }) => chatSettings?.initialMessages ?? []);

describe("prose", () => {
  it("is the greeting of the agent that a first visit meets", () => {
    assert.ok(isProse("Hello! Ask me anything, or give me a text to work on."));
  });

  it("would be the same paragraph if it was formatted", () => {
    const texts = [
      ...greetings,
      "Grüße - wie geht’s (heute)?",
      "日本語。",
      "A-b, c; d. 1. e...",
      "x  ",
    ];
    const escape = (text) => text.replaceAll("'", "&#39;").replaceAll('"', "&quot;");
    for (const text of texts.filter(isProse)) {
      assert.deepEqual(
        parse(text).blocks.map(({ html }) => html.trim()),
        [`<p>${escape(text)}</p>`],
        text,
      );
    }
    assert.ok(texts.filter(isProse).length >= 4);
  });

  it("has no sign that means something, no address, and one direction", () => {
    for (const text of [
      "",
      " x",
      "- x",
      "1. x",
      "a *b*",
      "a_b_",
      "`a`",
      "a\nb",
      "# a",
      "<b>",
      "a & b",
      "[a](b)",
      "a@b.org",
      "see www.example.org",
      "https://example.org",
      "$x$",
      "a | b",
      "مرحبا",
    ])
      assert.ok(!isProse(text), text);
  });
});
