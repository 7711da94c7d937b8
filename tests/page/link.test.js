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
    assert.deepEqual(read("debug=true&temporary-chat=true&temporary=1"), {
      text: "",
      model: "",
      agent: "",
      unknown: [],
    });
  });

  it("names what means nothing here, and no tracking nor what others answer for", () => {
    assert.deepEqual(read("temporary-talk=true&model=a&temporary-talk=1&hints=search").unknown, [
      "temporary-talk",
      "hints",
    ]);
    assert.deepEqual(read("Prompt=One&constructor=1&%20=2").unknown, [
      "Prompt",
      "constructor",
      " ",
    ]);
    const quiet = [
      "utm_source=x&utm_campaign=y&fbclid=1&gclid=2&msclkid=3&mc_cid=4",
      "historypolicy=all&history_length=2",
      "agent=demo&debug=true",
      "",
    ];
    for (const query of quiet) assert.deepEqual(read(query).unknown, [], query);
  });

  it("never costs a draft that is there", () => {
    assert.equal(joinDraft("", "Two"), "Two");
    assert.equal(joinDraft("One", "Two"), "One\n\nTwo");
    assert.equal(joinDraft("One\n\nTwo", "Two"), "One\n\nTwo");
  });

  it("loses text and model once they are read, and nothing else", () => {
    globalThis.location = new URL(
      "https://chat.example/chat?q=Hi&model=a%3Ab&historyPolicy=all&debug=true",
    );
    globalThis.history = {
      state: null,
      replaceState: (state, _, url) => (globalThis.location = new URL(url, location)),
    };
    assert.deepEqual(takeLink(false), { text: "Hi", model: "a:b", agent: "", unknown: [] });
    assert.equal(location.search, "?historyPolicy=all&debug=true");
  });

  it("loses an agent that isn't here, and says which it was", () => {
    globalThis.location = new URL("https://chat.example/chat?agent=nobody&debug=true");
    assert.deepEqual(takeLink(true), { text: "", model: "", agent: "nobody", unknown: [] });
    assert.equal(location.search, "?debug=true");
  });
});
