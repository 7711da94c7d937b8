/** Tool calls and their results, each on one line. */

import assert from "node:assert/strict";
import { describe, it } from "node:test";

import {
  callView,
  describeCall,
  describeResult,
  formatJson,
} from "../../static/chat/state/tool-calls.js";
import { message } from "./records.js";

const call = (given) => ({ id: "k", name: "tool", arguments: given });
const result = (content, changes = {}) =>
  message("r", 3, { role: "tool", call_id: "k", content, ...changes });
const line = (content) => describeResult(callView(call({}), result(content)));

describe("a call", () => {
  it("with one argument is shown without its name", () => {
    assert.equal(describeCall(call({ expression: "184000 / 92" })), 'tool("184000 / 92")');
  });

  it("with several names each, and with none has none", () => {
    assert.equal(describeCall(call({ city: "Malo", days: 2 })), 'tool(city: "Malo", days: 2)');
    assert.equal(describeCall(call({})), "tool()");
    assert.equal(describeCall(call(undefined)), "tool()");
  });

  it("is cut to a line", () =>
    assert.ok(describeCall(call({ text: "x".repeat(500) })).length < 100));

  it("runs, ends, fails, or never ran", () => {
    const state = (tool) => callView(call({}), tool).state;
    assert.equal(state(result(null, { state: "running" })), "running");
    assert.equal(state(result("2000")), "done");
    assert.equal(
      state(result('{"error": {"name": "ToolError", "message": "No connection."}}')),
      "failed",
    );
    assert.equal(
      state(result('{"error": {"name": "NoResult", "message": "It never ran."}}')),
      "never",
    );
    assert.equal(state(null), "never");
  });

  it("is read once for each result", () => {
    const stored = result("2000");
    assert.equal(callView(call({}), stored), callView(call({}), stored));
  });
});

describe("a result", () => {
  it("is the `result` among what a tool returns besides", () => {
    assert.equal(line('{"result": {"result": 12}, "time": 3}'), "12");
  });

  it("names its values, and of a list its length", () => {
    assert.equal(line('{"found": [1, 2, 3], "city": "Malo"}'), 'found: 3, city: "Malo"');
    assert.equal(line("[1,2]"), "[1,2]");
    assert.equal(line("null"), "null");
  });

  it("that is no JSON is shown as it is", () => assert.equal(line("plain text"), "plain text"));

  it("with an error is its message", () => {
    assert.equal(
      line('{"error": {"name": "E", "message": "No connection."}}'),
      "failed: No connection.",
    );
    assert.equal(line('{"error": "of another form"}'), 'error: "of another form"');
  });

  it("that never came says so", () =>
    assert.equal(describeResult(callView(call({}), null)), "no result"));
});

it("JSON is shown with a line for each value, other text as it is", () => {
  assert.equal(formatJson('{"a":1}'), '{\n  "a": 1\n}');
  assert.equal(formatJson("no { json"), "no { json");
});

it("a result that is nested too deeply to be formatted stays as it is", () => {
  const deep = `${"[".repeat(100_000)}${"]".repeat(100_000)}`;
  const behind = `{"a": "${"]".repeat(9_000)}", "b": ${"[".repeat(9_000)}${"]".repeat(9_000)}}`;
  for (const text of [deep, behind, `{"result": ${deep}}`, "[".repeat(100_000)]) {
    assert.equal(formatJson(text), text);
    assert.ok(line(text).length <= 90);
  }
});
