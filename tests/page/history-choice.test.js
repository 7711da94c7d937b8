/** What was chosen in the page, until the server has kept it. */

import assert from "node:assert/strict";
import { beforeEach, describe, it } from "node:test";

import { HistoryChoice } from "../../static/chat/header/history-choice.js";

const ID = "c";
let sent = [];
let connected = true;

/** A page at this address, whose server sends nothing by itself. */
function page(query = "") {
  globalThis.location = new URL(`https://chat.example/chat/c${query}`);
  globalThis.history = {
    state: null,
    replaceState: (_, __, url) => (globalThis.location = new URL(url)),
  };
  const storage = {
    getItem: (key) => storage[key] ?? null,
    setItem: (key, value) => (storage[key] = value),
    removeItem: (key) => delete storage[key],
  };
  globalThis.window = { sessionStorage: storage, localStorage: storage };
  const choice = new HistoryChoice({
    send: (chosen) => (connected && sent.push(chosen) ? `choose-${sent.length}` : ""),
    changed() {},
  });
  choice.enter(ID);
  return choice;
}

const opened = (history, more = {}) => ({
  opened: true,
  conversation: { id: ID, history },
  refusal: null,
  ...more,
});

beforeEach(() => {
  sent = [];
  connected = true;
});

describe("a choice for a chat that has begun", () => {
  it("is sent once, with what is kept already, and forgotten when the server keeps it", () => {
    const choice = page();
    choice.update(opened({ historyTokens: "900" }));
    choice.choose({ historyPolicy: "none", historySelector: null }, {});
    choice.update(opened({ historyTokens: "900" }));
    assert.deepEqual(sent, [{ historyTokens: "900", historyPolicy: "none" }]);
    choice.update(opened(sent[0]));
    assert.equal(choice.chosen, null);
  });

  it("adds to the choice before, before a preview has shown that", () => {
    const choice = page();
    choice.update(opened({}));
    choice.choose({ historyPolicy: "relevant" }, {});
    choice.update(opened({ historyPolicy: "relevant" }));
    choice.choose({ historyTokens: "2000" }, {});
    assert.deepEqual(sent.at(-1), { historyPolicy: "relevant", historyTokens: "2000" });
  });

  it("takes the link's settings out of the address only once it is kept", () => {
    const choice = page("?historyPolicy=none&debug=true");
    choice.update(opened({}));
    choice.choose({ historyLength: "3" }, { historyPolicy: "none" });
    assert.deepEqual(sent, [{ historyPolicy: "none", historyLength: "3" }]);
    assert.equal(location.search, "?historyPolicy=none&debug=true");
    choice.update(opened(sent[0]));
    assert.equal(location.search, "?debug=true");
  });

  it("is given up where it is refused, and the link's settings stay", () => {
    const choice = page("?historyPolicy=none");
    choice.update(opened({}));
    choice.choose({ historyPolicy: "summary" }, { historyPolicy: "none" });
    choice.update(opened({}, { refusal: { ref: "choose-1" } }));
    assert.equal(choice.chosen, null);
    assert.equal(location.search, "?historyPolicy=none");
  });

  it("waits for the connection, also over a reload", () => {
    const choice = page();
    connected = false;
    choice.update(opened({}));
    choice.choose({ historyPolicy: "all" }, {});
    assert.deepEqual(sent, []);
    connected = true;
    choice.enter(ID);
    choice.update({ ...opened({}), opened: false });
    assert.deepEqual(sent, []);
    choice.update(opened({}));
    assert.deepEqual(sent, [{ historyPolicy: "all" }]);
    choice.update({ ...opened({}), opened: false });
    choice.update(opened({}));
    assert.equal(sent.length, 2);
  });

  it("can be taken back", () => {
    const choice = page("?historyPolicy=none");
    choice.update(opened({ historyLength: "3" }));
    choice.reset();
    choice.update(opened({}));
    assert.deepEqual(sent, [{}]);
    assert.equal(location.search, "");
  });
});

describe("a choice for a chat that hasn't begun", () => {
  it("stays in the page until the first message took it along", () => {
    const choice = page("?historyPolicy=none");
    choice.update({ ...opened({}), conversation: null });
    choice.choose({ historyLength: "3" }, { historyPolicy: "none" });
    assert.deepEqual(choice.chosen, { historyPolicy: "none", historyLength: "3" });
    assert.equal(location.search, "");
    choice.enter(ID);
    assert.deepEqual(choice.chosen, { historyPolicy: "none", historyLength: "3" });
    choice.update(opened({ historyLength: "3", historyPolicy: "none" }));
    assert.deepEqual([sent, choice.chosen], [[], null]);
  });

  it("is sent after all where it was made while the first message was on its way", () => {
    const choice = page();
    choice.update({ ...opened({}), conversation: null });
    choice.choose({ historyPolicy: "all" }, {});
    choice.update(opened({}));
    assert.deepEqual(sent, [{ historyPolicy: "all" }]);
  });
});
