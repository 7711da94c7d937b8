/** Records as the server sends them, for the tests of the page's modules. */

/** A stored message; `changes` replaces any of its fields. */
export function message(id, seq, changes = {}) {
  return {
    id,
    seq,
    role: "user",
    content: `text of ${id}`,
    reasoning: null,
    source: "web",
    state: "complete",
    created: "2026-01-31T12:00:00+00:00",
    turn: null,
    finish_reason: "",
    pinned: false,
    excluded: false,
    bookmarked: false,
    kept_whole: false,
    in_force: "",
    offered: "",
    reply: null,
    problem: null,
    calls: [],
    call_id: null,
    attachments: [],
    versions: [],
    edited: false,
    kv_status: 1,
    ...changes,
  };
}

export const answer = (id, seq, changes = {}) =>
  message(id, seq, { role: "assistant", turn: "t", ...changes });

export const CONVERSATION = {
  id: "c",
  agent: "demo",
  title: "Trip",
  created: "2026-01-31T12:00:00+00:00",
  updated: "2026-01-31T12:00:00+00:00",
  model: "",
};
export const AGENT = {
  slug: "demo",
  name: "Memo",
  description: "",
  greeting: ["Hello."],
  prompts: [],
  tags: [],
  provider: { kind: "echo", label: "Echo", note: "" },
  broken: null,
};
export const ENGINE = { state: "ready", sentence: "", progress: null };
export const SUMMARY = {
  on: true,
  version: 0,
  messages: 0,
  by: "",
  last: 0,
  compaction: 0,
  undone: 0,
};

/** A snapshot of the conversation `c` with these messages. */
export function snapshot(messages, changes = {}) {
  return {
    type: "snapshot",
    conversation_id: "c",
    conversation: CONVERSATION,
    agent: AGENT,
    messages,
    earlier: false,
    turn: null,
    receipt: null,
    engine: ENGINE,
    forget_above: 0,
    summary: SUMMARY,
    ...changes,
  };
}

/** A turn that runs, as a snapshot describes it. */
export const turnView = (changes = {}) => ({
  id: "t",
  user_message: "u",
  text: "",
  reasoning: "",
  calling: [],
  waiting: "",
  reading: [0, 0],
  ...changes,
});

/** A verdict on the messages from `first` to `last`. */
export const verdict = (first, last, changes = {}) => ({
  first,
  last,
  messages: last - first + 1,
  role: null,
  sent: true,
  quoted: false,
  reason: "within_length",
  sentence: "within your last 3 exchanges",
  tokens: 10,
  basis: "counted",
  ...changes,
});

/** A decision with these verdicts. */
export const decision = (verdicts, changes = {}) => ({
  verdicts,
  horizon: null,
  facts: { policy: "p", length: "", source: "template", stored: 2, sent: 2 },
  settings: { policy: { value: "p", source: "template", said: [] } },
  ...changes,
});
