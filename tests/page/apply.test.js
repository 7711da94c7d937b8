/** `apply`: what every event of the server makes of the page's state. */

import assert from "node:assert/strict";
import { describe, it } from "node:test";

import { apply } from "../../static/chat/state/apply.js";
import {
  addPending,
  disconnect,
  expectPreview,
  initialState,
} from "../../static/chat/state/state.js";
import {
  AGENT,
  CONVERSATION,
  ENGINE,
  SUMMARY,
  answer,
  decision,
  message,
  snapshot,
  turnView,
} from "./records.js";

const ASKED = message("u", 1);
const EMPTY = initialState("c", "demo", AGENT);

/** The state after a snapshot and these events. */
const after = (...events) => events.reduce(apply, EMPTY);

/** What a fresh page shows, without what only belongs to a page that saw the events. */
function shown({ ended, refusal, previewRef, cacheVersion, ...state }) {
  const { waiting } = state.turn ?? {};
  return waiting ? { ...state, turn: { ...state.turn, waiting: waiting.sentence } } : state;
}

/** Checks that the events lead to the state that a fresh snapshot gives. */
function leadsTo(events, fresh) {
  assert.deepEqual(shown(after(...events)), shown(after(fresh)));
}

const STARTED = {
  type: "turn_started",
  conversation: CONVERSATION,
  turn: "t",
  client_id: "x",
  messages: [ASKED],
  resent: false,
  gone_from: 0,
  text: "",
  reasoning: "",
};
const delta = (offset, text, part = "text") => ({ type: "delta", turn: "t", offset, text, part });
const ended = (changes) => ({
  type: "turn_ended",
  turn: "t",
  state: "complete",
  message: null,
  reported: null,
  problem: null,
  messages: [],
  ...changes,
});

describe("a snapshot", () => {
  it("opens the conversation with all it holds", () => {
    const state = after(
      snapshot([ASKED], { receipt: decision([]), forget_above: 1, earlier: true }),
    );
    assert.equal(state.opened, true);
    assert.deepEqual(state.messages, [ASKED]);
    assert.deepEqual(state.conversation, CONVERSATION);
    assert.deepEqual([state.forgetAbove, state.earlier, state.agentSlug], [1, true, "demo"]);
    assert.deepEqual(state.engine, ENGINE);
  });

  it("of another conversation changes nothing", () => {
    assert.equal(apply(EMPTY, snapshot([ASKED], { conversation_id: "other" })), EMPTY);
  });

  it("keeps older messages that lead up to its own", () => {
    const old = message("old", 1);
    const state = after(
      snapshot([old, message("a", 2)]),
      snapshot([message("a", 2), message("b", 3)], { earlier: true }),
    );
    assert.deepEqual(
      state.messages.map(({ id }) => id),
      ["old", "a", "b"],
    );
    assert.equal(state.earlier, false);
  });

  it("drops older messages that it doesn't follow", () => {
    const state = after(
      snapshot([message("old", 1)]),
      snapshot([message("b", 9)], { earlier: true }),
    );
    assert.deepEqual(
      state.messages.map(({ id }) => id),
      ["b"],
    );
    assert.equal(state.earlier, true);
  });

  it("ends staleness and deletion", () => {
    const state = after(
      snapshot([]),
      { type: "path_changed", below: 0 },
      { type: "deleted" },
      snapshot([]),
    );
    assert.deepEqual([state.stale, state.deleted], [false, false]);
  });

  it("describes a running turn that waits or reads", () => {
    const reading = after(snapshot([ASKED], { turn: turnView({ reading: [512, 3400] }) })).turn;
    assert.deepEqual(reading.reading, { read: 512, total: 3400 });
    const waiting = after(
      snapshot([ASKED], { turn: turnView({ waiting: "It is busy.", text: "𝔘!" }) }),
    ).turn;
    assert.deepEqual(waiting.waiting, { sentence: "It is busy.", seconds: 0 });
    assert.deepEqual(waiting.lengths, { text: 2, reasoning: 0 });
  });
});

describe("a snapshot and the events after it give the state of a fresh snapshot", () => {
  it("when a turn starts", () => {
    leadsTo([snapshot([]), STARTED], snapshot([ASKED], { turn: turnView() }));
  });

  it("while a model reads and waits", () => {
    const opened = [snapshot([]), STARTED];
    leadsTo(
      [...opened, { type: "reading", turn: "t", read: 512, total: 3400 }],
      snapshot([ASKED], { turn: turnView({ reading: [512, 3400] }) }),
    );
    leadsTo(
      [...opened, { type: "waiting", turn: "t", sentence: "It is busy.", seconds: 30 }],
      snapshot([ASKED], { turn: turnView({ waiting: "It is busy." }) }),
    );
  });

  it("while text and reasoning are written", () => {
    leadsTo(
      [
        snapshot([]),
        STARTED,
        delta(0, "First 𝔘", "reasoning"),
        delta(7, " price.", "reasoning"),
        delta(0, "Yes 👍🏽"),
      ],
      snapshot([ASKED], { turn: turnView({ reasoning: "First 𝔘 price.", text: "Yes 👍🏽" }) }),
    );
  });

  it("while tools are called, run and answer", () => {
    const call = { id: "k", name: "calculator", arguments: { expression: "1 + 1" } };
    const calling = answer("a", 2, { calls: [call], content: "Let me see." });
    const running = message("r", 3, { role: "tool", call_id: "k", state: "running" });
    const result = message("r", 3, { role: "tool", call_id: "k", content: "2" });
    const events = [
      snapshot([]),
      STARTED,
      delta(0, "Let me see."),
      { type: "calling", turn: "t", name: "calculator" },
    ];
    leadsTo(
      events,
      snapshot([ASKED], { turn: turnView({ text: "Let me see.", calling: ["calculator"] }) }),
    );
    const started = [...events, { type: "calls_started", turn: "t", messages: [calling, running] }];
    leadsTo(started, snapshot([ASKED, calling, running], { turn: turnView() }));
    leadsTo(
      [...started, { type: "call_ended", turn: "t", message: result }],
      snapshot([ASKED, calling, result], { turn: turnView() }),
    );
  });

  it("when a turn ends, with its receipt", () => {
    const receipt = decision([], { turn: "t", notes: ["One."] });
    const last = answer("a", 2);
    const begun = [
      snapshot([]),
      STARTED,
      { type: "decided", turn: "t", receipt },
      delta(0, "text"),
    ];
    leadsTo(begun, snapshot([ASKED], { turn: turnView({ text: "text" }), receipt }));
    const reported = { reported: { prompt: 12 }, notes: ["One.", "Two."] };
    leadsTo(
      [...begun, ended({ message: last, reported })],
      snapshot([ASKED, last], { receipt: { ...receipt, ...reported } }),
    );
  });

  it("and asks for a snapshot where the decision of the turn that ended isn't here", () => {
    const before = decision([], { turn: "s" });
    const state = after(
      snapshot([ASKED], { receipt: before }),
      ended({ reported: { reported: {} } }),
    );
    assert.equal(state.stale, true);
    assert.equal(state.receipt, before);
  });

  it("when a turn fails: the problem belongs to the question", () => {
    const problem = { code: "provider", message: "The model is down." };
    leadsTo(
      [snapshot([]), STARTED, ended({ state: "failed", problem })],
      snapshot([{ ...ASKED, problem }]),
    );
    const alone = { ...ASKED, state: "failed", problem };
    leadsTo(
      [snapshot([]), STARTED, ended({ state: "failed", problem, messages: [alone] })],
      snapshot([alone]),
    );
  });

  it("when the conversation is renamed, marked, summarised and cleared", () => {
    const opened = snapshot([ASKED]);
    leadsTo(
      [opened, { type: "renamed", title: "New" }],
      snapshot([ASKED], { conversation: { ...CONVERSATION, title: "New" } }),
    );
    const temporary = { conversation: { ...CONVERSATION, temporary: true } };
    leadsTo(
      [snapshot([ASKED], temporary), { type: "kept" }],
      snapshot([ASKED], { conversation: { ...CONVERSATION, temporary: false } }),
    );
    const history = { historyPolicy: "none" };
    leadsTo(
      [opened, { type: "history_chosen", history }],
      snapshot([ASKED], { conversation: { ...CONVERSATION, history } }),
    );
    leadsTo(
      [
        opened,
        {
          type: "marked",
          message: "u",
          pinned: true,
          excluded: false,
          bookmarked: false,
          kept_whole: false,
          in_force: "",
          offered: "",
          forget_above: 1,
          state: "complete",
        },
      ],
      snapshot([{ ...ASKED, pinned: true }], { forget_above: 1 }),
    );
    const alone = { ...ASKED, state: "failed" };
    leadsTo(
      [
        snapshot([alone]),
        {
          type: "marked",
          message: "u",
          pinned: false,
          excluded: false,
          bookmarked: false,
          kept_whole: false,
          in_force: "",
          offered: "",
          forget_above: 0,
          state: "complete",
        },
      ],
      snapshot([ASKED]),
    );
    const summary = {
      on: true,
      version: 2,
      messages: 8,
      by: "a model",
      last: 8,
      compaction: 0,
      undone: 0,
    };
    leadsTo([opened, { type: "summary_changed", summary }], snapshot([ASKED], { summary }));
    leadsTo([snapshot([ASKED], { summary, forget_above: 1 }), { type: "cleared" }], snapshot([]));
  });

  it("when a cleanup unloads messages", () => {
    leadsTo(
      [snapshot([ASKED]), { type: "cache_changed", status: { u: -1, elsewhere: 0 } }],
      snapshot([{ ...ASKED, kv_status: -1 }]),
    );
  });
});

describe("a turn that starts", () => {
  it("replaces the drawn message by the stored one", () => {
    const pending = {
      client_id: "x",
      ref: "send-x",
      text: "Hello",
      reply: null,
      attachments: [],
      model: null,
      after: 0,
      at: "",
    };
    const state = apply(addPending(after(snapshot([])), pending), STARTED);
    assert.deepEqual(state.pending, []);
    assert.equal(state.turn.user_message, "u");
  });

  it("does not begin again when it was resent", () => {
    const state = after(snapshot([ASKED]), { ...STARTED, resent: true });
    assert.equal(state.turn, null);
  });

  it("removes the messages that leave the path and begins with the given text", () => {
    const state = after(snapshot([ASKED, answer("a", 2)]), {
      ...STARTED,
      gone_from: 2,
      text: "Half an",
      reasoning: "So",
    });
    assert.deepEqual(
      state.messages.map(({ id }) => id),
      ["u"],
    );
    assert.deepEqual([state.turn.text, state.turn.lengths], ["Half an", { text: 7, reasoning: 2 }]);
  });

  it("keeps of a changed path what is above the change, also messages that the snapshot lacks", () => {
    const before = after(snapshot([ASKED, answer("a", 2), message("v", 3), answer("b", 4)]), {
      type: "path_changed",
      below: 2,
    });
    assert.deepEqual(
      [before.stale, before.messages.length],
      [true, 4],
      "until the snapshot is there",
    );
    const state = apply(before, snapshot([answer("a", 2), message("w", 5)]));
    assert.deepEqual(
      state.messages.map(({ id }) => id),
      ["u", "a", "w"],
    );
    assert.deepEqual([state.stale, state.sure], [false, Infinity]);
  });

  it("in another conversation, or before the snapshot, changes nothing", () => {
    assert.equal(apply(EMPTY, STARTED), EMPTY);
    const opened = after(snapshot([]));
    assert.equal(
      apply(opened, { ...STARTED, conversation: { ...CONVERSATION, id: "other" } }),
      opened,
    );
  });
});

describe("a delta", () => {
  const opened = after(snapshot([]), STARTED, delta(0, "Hello"));

  it("that repeats known text changes nothing", () => {
    assert.equal(apply(opened, delta(0, "Hello")).turn.text, "Hello");
    assert.equal(apply(opened, delta(0, "Hello")).stale, false);
  });

  it("after a gap asks for a new snapshot", () => {
    assert.equal(apply(opened, delta(9, "!")).stale, true);
  });

  it("of another turn changes nothing", () => {
    assert.equal(apply(opened, { ...delta(5, "!"), turn: "other" }), opened);
  });

  it("ends waiting and reading", () => {
    const state = after(
      snapshot([]),
      STARTED,
      { type: "reading", turn: "t", read: 1, total: 2 },
      delta(0, "Hi"),
    );
    assert.deepEqual([state.turn.waiting, state.turn.reading], [null, null]);
  });

  it("counts characters as the server does", () => {
    assert.equal(after(snapshot([]), STARTED, delta(0, "👍🏽"), delta(2, "ok")).turn.text, "👍🏽ok");
  });
});

describe("a turn that ends", () => {
  it("with a problem of a complete answer leaves the question alone", () => {
    const problem = { code: "server_cut", message: "The server cut the prompt." };
    const state = after(
      snapshot([]),
      STARTED,
      ended({ message: answer("a", 2, { problem }), problem }),
    );
    assert.equal(state.messages[0].problem, null);
    assert.deepEqual(state.ended, { turn: "t", state: "complete", problem });
  });

  it("keeps a turn that began after it", () => {
    const state = after(snapshot([]), { ...STARTED, turn: "next" }, ended({}));
    assert.equal(state.turn.id, "next");
  });

  it("brings the results of calls that were cut off", () => {
    const result = message("r", 3, { role: "tool" });
    assert.deepEqual(after(snapshot([ASKED]), ended({ messages: [result] })).messages, [
      ASKED,
      result,
    ]);
  });
});

describe("a refusal", () => {
  const pending = {
    client_id: "x",
    ref: "send-x",
    text: "Hello",
    reply: null,
    attachments: [],
    model: null,
    after: 0,
    at: "",
  };
  const drawn = addPending(after(snapshot([])), pending);

  it("of a message gives its draft back", () => {
    const state = apply(drawn, { type: "refused", ref: "send-x", code: "busy", message: "Wait." });
    assert.deepEqual(state.pending, []);
    assert.deepEqual(state.refusal, {
      ref: "send-x",
      code: "busy",
      message: "Wait.",
      draft: pending,
      costs: null,
    });
  });

  it("of a dear message says what is asked", () => {
    const costs = {
      price: { low: 1, high: 1, answer: null, part: "" },
      spent: null,
      cheaper: null,
    };
    const event = { type: "refused", ref: "send-x", code: "costs_more", message: "Asks.", costs };
    const { refusal } = apply(drawn, event);
    assert.deepEqual([refusal.draft, refusal.costs], [pending, costs]);
  });

  it("of another command keeps the drawn message", () => {
    const state = apply(drawn, { type: "refused", ref: "stop-1", code: "busy", message: "Wait." });
    assert.deepEqual([state.pending, state.refusal.draft], [[pending], null]);
  });

  it("of a preview is its problem", () => {
    const state = apply(expectPreview(drawn, "preview-1"), {
      type: "refused",
      ref: "preview-1",
      code: "long",
      message: "Too long.",
    });
    assert.deepEqual(state.problem, { code: "long", message: "Too long." });
    assert.equal(state.refusal, null);
  });
});

describe("a preview", () => {
  it("counts only if it is the one awaited", () => {
    const awaited = expectPreview(after(snapshot([])), "preview-2");
    assert.equal(
      apply(awaited, { type: "preview", ref: "preview-1", decision: decision([]), problem: null }),
      awaited,
    );
    const next = decision([]);
    assert.equal(
      apply(awaited, { type: "preview", ref: "preview-2", decision: next, problem: null }).decision,
      next,
    );
  });

  it("without a decision keeps the last one beside the problem", () => {
    const problem = { code: "too_large", message: "Too large." };
    const before = { ...expectPreview(after(snapshot([])), "p"), decision: decision([]) };
    const state = apply(before, { type: "preview", ref: "p", decision: null, problem });
    assert.equal(state.decision, before.decision);
    assert.equal(state.problem, problem);
  });
});

describe("other events", () => {
  it("name the provider that answers in place of another", () => {
    const provider = { kind: "echo", label: "Echo", note: "The model can't answer." };
    const state = after(snapshot([]), {
      type: "engine",
      state: "unavailable",
      sentence: "No.",
      progress: null,
      provider,
    });
    assert.deepEqual(state.engine, { state: "unavailable", sentence: "No.", progress: null });
    assert.deepEqual(state.agent.provider, provider);
  });

  it("change nothing before the snapshot or after the connection was lost", () => {
    for (const event of [
      { type: "renamed", title: "New" },
      { type: "history_chosen", history: {} },
      { type: "kept" },
      { type: "marked", message: "u", pinned: true, excluded: true, forget_above: 3 },
      { type: "summary_changed", summary: SUMMARY },
      { type: "cache_changed", status: {} },
      { type: "path_changed", below: 0 },
      { type: "cleared" },
      { type: "deleted" },
      ended({}),
    ]) {
      assert.equal(apply(EMPTY, event), EMPTY, event.type);
      const lost = disconnect(after(snapshot([ASKED])));
      assert.equal(apply(lost, event), lost, event.type);
    }
  });

  it("that are not known change nothing", () => {
    assert.equal(apply(EMPTY, { type: "of a later version" }), EMPTY);
  });

  it("count the changes of the cache, and keep the messages where none changed", () => {
    const opened = after(snapshot([ASKED]));
    const state = apply(opened, { type: "cache_changed", status: { u: 1 } });
    assert.equal(state.messages, opened.messages);
    assert.equal(state.cacheVersion, opened.cacheVersion + 1);
  });

  it("show a version that was chosen elsewhere by a new snapshot, and a deleted chat as such", () => {
    assert.equal(after(snapshot([]), { type: "path_changed", below: 0 }).stale, true);
    const deleted = after(snapshot([ASKED], { turn: turnView() }), { type: "deleted" });
    assert.deepEqual([deleted.deleted, deleted.turn], [true, null]);
  });
});
