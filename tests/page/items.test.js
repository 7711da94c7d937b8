/** The transcript's items: which messages are shown, joined and marked. */

import assert from "node:assert/strict";
import { describe, it } from "node:test";

import { apply } from "../../static/chat/state/apply.js";
import {
  contextStatus,
  groupItems,
  newestGroup,
  sameItems,
} from "../../static/chat/state/items.js";
import { addPending, initialState } from "../../static/chat/state/state.js";
import { AGENT, answer, decision, message, snapshot, turnView, verdict } from "./records.js";

const EMPTY = initialState("c", "demo", AGENT);
const open = (messages, changes) => apply(EMPTY, snapshot(messages, changes));
const CALL = { id: "k", name: "calculator", arguments: { expression: "1 + 1" } };
const CALLING = answer("a1", 2, { calls: [CALL], content: "" });
const RESULT = message("r", 3, { role: "tool", call_id: "k", content: "2" });
const items = (state) => groupItems(state).flatMap((group) => group.items);

describe("an empty chat", () => {
  it("shows the agent's greeting", () => {
    const [first] = items(open([]));
    assert.deepEqual(
      [first.role, first.name, first.content, first.id],
      ["assistant", "Memo", "Hello.", null],
    );
  });
});

describe("the newest group", () => {
  const talk = [message("u", 1), CALLING, RESULT, answer("a2", 4), message("v", 5)];
  const calls = { ...CALLING, id: "b1", seq: 6 };
  const states = [
    open([]),
    open([message("u", 1)]),
    open(talk),
    open([...talk, answer("b", 6)]),
    open([...talk, calls, { ...RESULT, id: "s", seq: 7 }]),
    open(talk, { turn: turnView({ text: "Half" }) }),
    addPending(open(talk), { client_id: "p", text: "Hi", at: "" }),
    open([...talk, message("w", 6, { source: "scheduled" })]),
    open([message("u", 1), answer("a", 2)], { turn: turnView() }),
  ];
  for (const [index, state] of states.entries()) {
    it(`is found without the others (${index})`, () =>
      assert.deepEqual(newestGroup(state), groupItems(state).at(-1)));
  }

  it("is the same as another one where nothing that is shown differs", () => {
    const [one, again] = [open(talk), open(talk)].map((state) => groupItems(state)[0]);
    assert.notEqual(one, again);
    assert.ok(sameItems(one, again));
    assert.ok(
      !sameItems(
        one,
        groupItems(open([message("u", 1, { content: "Other" }), ...talk.slice(1)]))[0],
      ),
    );
    assert.ok(!sameItems(one, { ...again, last: true }));
  });
});

describe("an answer", () => {
  it("is one group with the tool calls that led to it", () => {
    const groups = groupItems(open([message("u", 1), CALLING, RESULT, answer("a2", 4)]));
    assert.deepEqual(
      groups.map((group) => group.items.map(({ id }) => id)),
      [["u"], ["a1", "a2"]],
    );
    assert.deepEqual(
      groups.map(({ key, last }) => [key, last]),
      [
        ["u", false],
        ["answer:u", true],
      ],
    );
    assert.equal(groups[1].items[0].calls[0].result, "2");
  });

  it("that is being written is shown from the turn, not from its checkpoint", () => {
    const checkpoint = answer("a", 2, { state: "running", content: "Hal" });
    const groups = groupItems(
      open([message("u", 1), checkpoint], { turn: turnView({ text: "Half" }) }),
    );
    const [item] = groups[1].items;
    assert.deepEqual([item.content, item.writing, item.key], ["Half", true, "turn:t"]);
    assert.equal(groups[1].last, false);
  });

  it("is idle while the calls before it run", () => {
    const running = { ...RESULT, state: "running" };
    const all = items(open([message("u", 1), CALLING, running], { turn: turnView() }));
    assert.equal(all.at(-1).idle, true);
  });

  it("keeps its place, whichever version is shown", () => {
    const keys = ["a", "b"].map((id) => groupItems(open([message("u", 1), answer(id, 2)]))[1].key);
    assert.deepEqual(keys, ["answer:u", "answer:u"]);
  });
});

describe("a user message", () => {
  it("without an answer has failed, unless one is being written", () => {
    const failed = (state) => items(state).find(({ id }) => id === "u").failed;
    assert.equal(failed(open([message("u", 1)])), true);
    assert.equal(failed(open([message("u", 1)], { turn: turnView() })), false);
    assert.equal(failed(open([message("u", 1), answer("a", 2)])), false);
    assert.equal(failed(open([message("u", 1), message("v", 2), answer("a", 3)])), true);
  });

  it("is not answered by a background task", () => {
    const report = answer("b", 2, { source: "briefing" });
    const all = items(open([message("u", 1), report]));
    assert.equal(all[0].failed, true);
    assert.deepEqual([all[1].background, all[1].name], [true, "Background task"]);
  });

  it("that is on its way is drawn last and waits", () => {
    const drawn = {
      client_id: "x",
      ref: "send-x",
      text: "Hello",
      reply: null,
      attachments: [],
      model: null,
      after: 1,
      at: "",
    };
    const last = items(addPending(open([message("u", 1), answer("a", 2)]), drawn)).at(-1);
    assert.deepEqual([last.key, last.content, last.waiting, last.seq], ["x", "Hello", true, null]);
  });

  it("begins a turn, whose first message may forget what is above", () => {
    const all = items(
      open([message("u", 1), answer("a", 2), message("v", 3), answer("b", 4)], { forget_above: 3 }),
    );
    assert.deepEqual(
      all.map(({ start }) => start),
      [1, 1, 3, 3],
    );
    assert.deepEqual(
      all.map(({ forgets }) => forgets),
      [false, false, true, true],
    );
    assert.deepEqual(
      all.map(({ first }) => first),
      [true, true, false, false],
    );
  });

  it("carries the sentences about its own files", () => {
    const file = {
      id: "f",
      name: "map.png",
      size: 1,
      modality: "image",
      mime_type: null,
      width: 0,
      height: 0,
      characters: 0,
    };
    const receipt = decision([], { files: ["map.png went along.", "other.pdf was left out."] });
    const [item] = items(open([message("u", 1, { attachments: [file] })], { receipt }));
    assert.equal(item.note, "map.png went along.");
  });
});

describe("the place of a message under a decision", () => {
  const at = (seq, changes = {}) => ({
    seq,
    role: "user",
    unloaded: false,
    calls: [],
    ...changes,
  });

  it("is above or below the horizon", () => {
    const cut = decision([verdict(1, 4, { sent: false }), verdict(5, 8)], { horizon: 5 });
    assert.deepEqual(contextStatus(cut, at(3)), {
      out: true,
      mark: null,
      verdict: cut.verdicts[0],
    });
    assert.deepEqual(contextStatus(cut, at(5)), {
      out: false,
      mark: null,
      verdict: cut.verdicts[1],
    });
  });

  it("is marked where its verdict differs from its place", () => {
    const pinned = verdict(1, 2, { sentence: "pinned" });
    const excluded = verdict(7, 7, { sent: false, sentence: "left out by you" });
    const mixed = decision([pinned, verdict(3, 4, { sent: false }), excluded], { horizon: 5 });
    assert.deepEqual(contextStatus(mixed, at(1)), {
      out: false,
      mark: { kind: "sent", sentence: "pinned" },
      verdict: pinned,
    });
    assert.deepEqual(contextStatus(mixed, at(7)), {
      out: true,
      mark: { kind: "left", sentence: "left out by you" },
      verdict: excluded,
    });
  });

  it("says once a turn that it was unloaded, unless it is sent even so", () => {
    const unloaded = { kind: "unloaded", sentence: "unloaded by a cleanup" };
    assert.deepEqual(contextStatus(null, at(1, { unloaded: true })), {
      out: true,
      mark: unloaded,
      verdict: null,
    });
    assert.deepEqual(contextStatus(null, at(2, { unloaded: true, role: "assistant" })), {
      out: true,
      mark: null,
      verdict: null,
    });
    const replied = decision([verdict(1, 2)]);
    assert.equal(contextStatus(replied, at(1, { unloaded: true })).out, false);
  });

  it("says that results gave way, of the message that called for them", () => {
    const gone = verdict(3, 4, { reason: "gave_way" });
    const call = { calls: [{ seq: 3 }, { seq: 4 }, { seq: 5 }], role: "assistant" };
    assert.deepEqual(
      contextStatus(decision([verdict(1, 2), gone, verdict(5, 6)]), at(2, call)).mark,
      { kind: "gave", sentence: "a line is sent in place of each of 2 results", gone: [3, 4] },
    );
  });

  it("offers to send an unanswered message along, wherever it stands", () => {
    const alone = verdict(3, 3, {
      sent: false,
      reason: "unanswered",
      sentence: "its answer failed",
    });
    const mark = { kind: "unanswered", sentence: "its answer failed" };
    for (const horizon of [1, 5]) {
      assert.deepEqual(contextStatus(decision([alone], { horizon }), at(3)), {
        out: true,
        mark,
        verdict: alone,
      });
    }
    const answered = verdict(3, 3, { reason: "unanswered", sent: false });
    assert.equal(contextStatus(decision([answered]), at(3, { role: "assistant" })).mark, null);
  });

  it("is unknown before a decision and before it is stored", () => {
    assert.deepEqual(contextStatus(null, at(1)), { out: false, mark: null, verdict: null });
    assert.deepEqual(contextStatus(decision([]), at(null)), {
      out: false,
      mark: null,
      verdict: null,
    });
  });
});
