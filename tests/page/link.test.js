/** What a link asks for. */

import assert from "node:assert/strict";
import { describe, it } from "node:test";

import { joinDraft, readLink, takeLink } from "../../static/chat/net/link.js";

/** @param {string} query */
const read = (query) => readLink(new URLSearchParams(query), false);

describe("a link", () => {
  it("fills the box by either name, the first that says something", () => {
    assert.equal(read("q=Hello%20there").text, "Hello there");
    assert.equal(read("prompt=%20&q=Two").text, "Two");
    assert.equal(read("prompt=One&q=Two").text, "One");
    assert.deepEqual(read("debug=true"), { text: "", model: "", agent: "" });
  });

  it("never costs a draft that is there", () => {
    assert.equal(joinDraft("", "Two"), "Two");
    assert.equal(joinDraft("One", "Two"), "One\n\nTwo");
    assert.equal(joinDraft("One\n\nTwo", "Two"), "One\n\nTwo");
  });

  it("loses text and model once they are read, and nothing else", () => {
    globalThis.location = new URL("https://chat.example/chat?q=Hi&model=a%3Ab&historyPolicy=all&debug=true");
    globalThis.history = { state: null, replaceState: (state, _, url) => (globalThis.location = new URL(url, location)) };
    assert.deepEqual(takeLink(false), { text: "Hi", model: "a:b", agent: "" });
    assert.equal(location.search, "?historyPolicy=all&debug=true");
  });

  it("loses an agent that isn't here, and says which it was", () => {
    globalThis.location = new URL("https://chat.example/chat?agent=nobody&debug=true");
    assert.deepEqual(takeLink(true), { text: "", model: "", agent: "nobody" });
    assert.equal(location.search, "?debug=true");
  });
});
