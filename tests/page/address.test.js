/** The page's own address and those of other chats. */

import assert from "node:assert/strict";
import { beforeEach, describe, it } from "node:test";

import * as address from "../../static/chat/net/address.js";

beforeEach(() => {
  globalThis.location = new URL("https://chat.example/chat?agent=demo&historyPolicy=p&debug=true");
  globalThis.history = {
    state: null,
    replaceState: (state, _, url) => (globalThis.location = new URL(url, location)),
  };
});

describe("the page's address", () => {
  const PAGE = { agent: "first", urls: { chat: "/chat" } };

  it("names a conversation, or a new chat with an agent", () => {
    assert.deepEqual(address.readAddress(PAGE), { conversation: null, agent: "demo" });
    globalThis.location = new URL("https://chat.example/chat/abc");
    assert.deepEqual(address.readAddress(PAGE), { conversation: "abc", agent: "first" });
  });

  it("of another chat keeps debug and leaves history parameters out", () => {
    assert.equal(address.chatAddress(PAGE, { agent: "demo" }), "/chat?agent=demo&debug=true");
    assert.equal(
      address.chatAddress(PAGE, { conversation: "abc", agent: "demo" }),
      "/chat/abc?debug=true",
    );
  });

  it("shows whether the panel is open", () => {
    address.setDebug(false);
    assert.equal(address.queryString(), "agent=demo&historyPolicy=p");
    address.setDebug(true);
    assert.equal(address.queryString(), "agent=demo&historyPolicy=p&debug=true");
  });

  it("makes a link with other settings, and leaves the address as it is", () => {
    const link = address.linkWith({ historyLength: "3" });
    assert.equal(link, "https://chat.example/chat?agent=demo&debug=true&historyLength=3");
    assert.equal(address.hasHistoryParameters(), true);
  });

  it("loses its history parameters, and keeps the others", () => {
    address.clearHistoryParameters();
    assert.deepEqual(
      [address.queryString(), address.hasHistoryParameters()],
      ["agent=demo&debug=true", false],
    );
  });

  it("of a chat that has begun names the conversation and no agent", () => {
    address.useConversationAddress(PAGE, "abc");
    assert.equal(location.href, "https://chat.example/chat/abc?historyPolicy=p&debug=true");
  });

  it("of a file is encoded", () => assert.equal(address.fileAddress("a/b"), "/files/a%2Fb"));
});
