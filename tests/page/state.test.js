/** The changes that the page itself makes to its state. */

import assert from "node:assert/strict";
import { describe, it } from "node:test";

import {
  addEarlier,
  addPending,
  countCharacters,
  disconnect,
  findVerdict,
  initialState,
  lastSeq,
  mergeMessages,
  removePending,
} from "../../static/chat/state/state.js";
import { AGENT, decision, message, verdict } from "./records.js";

const EMPTY = initialState("c", "demo", AGENT);
const pending = (id) => ({
  client_id: id,
  ref: `send-${id}`,
  text: id,
  reply: null,
  attachments: [],
  model: null,
  after: 0,
  at: "",
});

describe("characters", () => {
  it("are code points, as the server counts them", () => {
    assert.equal(countCharacters("abc"), 3);
    assert.equal(countCharacters("𝔘"), 1);
    assert.equal(countCharacters("👍🏽"), 2);
    assert.equal(countCharacters(""), 0);
  });
});

describe("messages", () => {
  it("are merged by sequence number, and the later list wins", () => {
    const merged = mergeMessages(
      [message("b", 2), message("a", 1)],
      [message("b", 2, { pinned: true }), message("c", 3)],
    );
    assert.deepEqual(
      merged.map(({ id, pinned }) => [id, pinned]),
      [
        ["a", false],
        ["b", true],
        ["c", false],
      ],
    );
  });

  it("that are older are put above", () => {
    const state = addEarlier({ ...EMPTY, messages: [message("b", 2)] }, [message("a", 1)], true);
    assert.deepEqual([state.messages.map(({ id }) => id), state.earlier], [["a", "b"], true]);
  });

  it("end with the last sequence number, or with none", () => {
    assert.equal(lastSeq(EMPTY), 0);
    assert.equal(lastSeq({ ...EMPTY, messages: [message("a", 1), message("b", 7)] }), 7);
  });
});

describe("a drawn message", () => {
  it("is added, and the last refusal is over", () => {
    const refused = { ...EMPTY, refusal: { ref: "x", code: "c", message: "m", draft: null } };
    const state = addPending(refused, pending("x"));
    assert.deepEqual([state.pending, state.refusal], [[pending("x")], null]);
  });

  it("that can't be sent is removed alone", () => {
    const state = removePending(addPending(addPending(EMPTY, pending("x")), pending("y")), "x");
    assert.deepEqual(state.pending, [pending("y")]);
  });
});

it("a lost connection keeps everything until the next snapshot", () => {
  const opened = { ...EMPTY, opened: true, stale: true, messages: [message("a", 1)] };
  assert.deepEqual(disconnect(opened), { ...opened, opened: false, stale: false });
});

describe("the verdict on a message", () => {
  it("is that of the narrowest run around it", () => {
    const wide = verdict(1, 90, { sent: false });
    const narrow = verdict(11, 12, { reason: "pinned" });
    assert.equal(findVerdict(decision([wide, narrow]), 12), narrow);
    assert.equal(findVerdict(decision([wide, narrow]), 13), wide);
  });

  it("is none for the head, for what no run covers, and without a decision", () => {
    assert.equal(findVerdict(decision([verdict(0, 0), verdict(5, 6)]), 4), null);
    assert.equal(findVerdict(decision([verdict(-2, 0)]), 0), null);
    assert.equal(findVerdict(null, 4), null);
  });
});
