/** What is typed and not yet stored, in the tab's storage. */

import assert from "node:assert/strict";
import { beforeEach, describe, it } from "node:test";

import * as drafts from "../../static/chat/net/drafts.js";
import { uuid } from "../../static/chat/net/ids.js";
import { loadItem, storeItem } from "../../static/chat/net/storage.js";

/** A storage as browsers have it: its keys are own properties. */
class FakeStorage {
  getItem(key) {
    return Object.hasOwn(this, key) ? this[key] : null;
  }

  setItem(key, value) {
    this[key] = String(value);
  }

  removeItem(key) {
    delete this[key];
  }
}

beforeEach(() => {
  globalThis.window = { localStorage: new FakeStorage(), sessionStorage: new FakeStorage() };
});

const QUOTE = { id: "q", seq: 3, role: "user", text: "before" };

describe("a draft", () => {
  it("is found again by its conversation alone", () => {
    drafts.storeDraft("c", "half a sent");
    drafts.storeReply("c", QUOTE);
    assert.equal(drafts.loadDraft("c"), "half a sent");
    assert.deepEqual(drafts.loadReply("c"), QUOTE);
    assert.deepEqual(
      [
        drafts.loadDraft("d"),
        drafts.loadReply("d"),
        drafts.loadFiles("d"),
        drafts.loadPending("d"),
      ],
      ["", null, [], []],
    );
  });

  it("leaves nothing behind when it is empty", () => {
    drafts.storeDraft("c", "text");
    drafts.storeFiles("c", [{ id: "f" }]);
    drafts.storeDraft("c", "");
    drafts.storeFiles("c", []);
    assert.deepEqual(Object.keys(window.sessionStorage), []);
  });

  it("of another account is removed, a guest's is kept", () => {
    drafts.claimTab("guest:1");
    drafts.storeDraft("c", "mine");
    drafts.claimTab("user:ada");
    assert.equal(drafts.loadDraft("c"), "mine");
    drafts.claimTab("user:bob");
    assert.equal(drafts.loadDraft("c"), "");
  });

  it("that was damaged counts as none", () => {
    storeItem("reply:c", "{", "sessionStorage");
    assert.equal(drafts.loadReply("c"), null);
  });
});

describe("a chat that has not begun", () => {
  it("keeps its id until it begins", () => {
    const id = drafts.newConversationId("demo");
    assert.equal(drafts.newConversationId("demo"), id);
    drafts.releaseNewId("demo", "another");
    assert.equal(drafts.newConversationId("demo"), id);
    drafts.releaseNewId("demo", id);
    assert.notEqual(drafts.newConversationId("demo"), id);
  });
});

it("the page reloads itself at most every ten seconds", () => {
  assert.deepEqual(
    [drafts.mayReload(50_000), drafts.mayReload(59_999), drafts.mayReload(60_000)],
    [true, false, true],
  );
});

it("a browser without storage stores nothing and goes on", () => {
  globalThis.window = {};
  storeItem("theme", "dark");
  assert.equal(loadItem("theme"), null);
});

describe("an id", () => {
  const FORM = /^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/;

  it("is a random UUID", () => {
    assert.match(uuid(), FORM);
    assert.notEqual(uuid(), uuid());
  });

  it("is one also where crypto.randomUUID is missing", (context) => {
    Object.defineProperty(crypto, "randomUUID", { value: undefined, configurable: true });
    context.after(() => delete crypto.randomUUID);
    assert.match(uuid(), FORM);
    assert.notEqual(uuid(), uuid());
  });
});
