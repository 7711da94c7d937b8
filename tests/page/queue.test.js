/** Messages that wait for the end of an answer. */

import assert from "node:assert/strict";
import { describe, it } from "node:test";

import { changeText, move, turnEnding, withoutMessage } from "../../static/chat/state/queue.js";

/** @param {string} id */
const queued = (id) => ({ client_id: id, text: id, reply: null, attachments: [] });
const LIST = [queued("a"), queued("b"), queued("c")];
/** @param {{client_id: string}[]} list */
const ids = (list) => list.map(({ client_id: id }) => id).join("");

describe("the queue", () => {
  it("moves a message, and stays as it is at its ends", () => {
    assert.equal(ids(move(LIST, "c", -1)), "acb");
    assert.equal(ids(move(LIST, "a", 1)), "bac");
    assert.equal(move(LIST, "a", -1), LIST);
    assert.equal(move(LIST, "c", 1), LIST);
    assert.equal(move(LIST, "x", 1), LIST);
    assert.equal(ids(LIST), "abc");
  });

  it("changes and removes one message only", () => {
    assert.deepEqual(
      changeText(LIST, "b", "B").map(({ text }) => text),
      ["a", "B", "c"],
    );
    assert.equal(ids(withoutMessage(LIST, "b")), "ac");
  });

  it("knows how a turn ended", () => {
    const turn = { id: "t" };
    /** @param {string} state @param {object} [more] */
    const ended = (state, more) => ({
      conversationId: "1",
      opened: true,
      turn: null,
      messages: [{ role: "user" }, { role: "assistant", state }],
      ...more,
    });
    const before = { conversationId: "1", turn };
    assert.equal(turnEnding(ended("complete"), before), "complete");
    assert.equal(turnEnding(ended("stopped"), before), "other");
    assert.equal(turnEnding(ended("failed"), before), "other");
    assert.equal(turnEnding(ended("complete"), { conversationId: "1", turn: null }), null);
    assert.equal(turnEnding(ended("complete", { turn }), before), null);
    assert.equal(turnEnding(ended("complete"), { conversationId: "2", turn }), null);
    assert.equal(turnEnding(ended("complete", { opened: false }), before), null);
  });
});
