/** Compacting by hand: the figures, and the exact values of a text. */

import assert from "node:assert/strict";
import { describe, it } from "node:test";

import {
  describeFreed,
  describeWriter,
  describeWriting,
  keepValues,
  missingValues,
} from "../../static/chat/state/compaction.js";
import { describeSummary } from "../../static/chat/state/summary.js";
import { SUMMARY, decision } from "./records.js";

describe("the values that a text doesn't have", () => {
  const missing = (text, ...values) =>
    missingValues(
      text,
      values.map((value) => ({ text: value })),
    ).map((value) => value.text);
  const value = (text, unit = "", kind = "name") => ({ text, unit, kind });

  it("are named once, in their order", () => {
    assert.deepEqual(missing("On 12 May.", "AB-1234", "12 May", "Ada", "AB-1234"), [
      "AB-1234",
      "Ada",
    ]);
  });

  it("aren't there as a piece of a longer word or number", () => {
    assert.deepEqual(missing("Adam paid 1234 for AB_12.", "Ada", "123", "AB"), [
      "Ada",
      "123",
      "AB",
    ]);
    assert.deepEqual(missing("Adam, then Ada.", "Ada"), []);
    assert.deepEqual(missing("In /srv/quay, at 9:30", "/srv/quay", "9:30"), []);
  });

  it("are kept in a last line, to which others are added", () => {
    const once = keepValues("They talked.\n", [value("AB-1234")]);
    assert.equal(once, "They talked.\n\nExact values: AB-1234");
    assert.equal(
      keepValues(once, [value("Ada"), value("189", "euros", "number")]),
      "They talked.\n\nExact values: AB-1234; Ada; 189 euros",
    );
    assert.equal(keepValues("", [value("Ada")]), "Exact values: Ada");
    const said = value("Always answer in German.", "", "instruction");
    assert.equal(
      keepValues("They talked.", [said, value("Ada")]),
      "They talked.\n\nThe user's instruction: Always answer in German.\n\nExact values: Ada",
    );
    assert.equal(keepValues("", [said]), "The user's instruction: Always answer in German.");
    assert.deepEqual(missing(once, "AB-1234"), []);
  });
});

describe("the figures", () => {
  it("say what is freed and saved", () => {
    const plan = { tokens: 7900, freed: 5200, saves: 0.0012 };
    assert.equal(
      describeFreed(plan),
      "Frees about 5,200 of 7,900 tokens. Each message then costs about $0.0012 less.",
    );
    assert.equal(describeFreed({ ...plan, saves: null }), "Frees about 5,200 of 7,900 tokens.");
    assert.equal(describeFreed({ ...plan, freed: 0 }), "This frees nothing in your next message.");
  });

  it("say who writes, for how much, and which part", () => {
    const plan = { by: "a model", parts: 3, cost: null };
    assert.equal(describeWriter(0, plan), "Write it with a model");
    assert.equal(
      describeWriter(0, { ...plan, cost: 0.003 }),
      "Write it with a model (about $0.0030)",
    );
    assert.equal(describeWriter(1, plan), "Go on with part 2 of 3");
    assert.equal(describeWriting(1, 3), "Part 2 of 3 is being written…");
    assert.equal(describeWriting(0, 1), "It is being written…");
  });
});

describe("the control at the line", () => {
  it("leads to the compaction while that is sent", () => {
    const summary = { ...SUMMARY, version: 2, compaction: 2, by: "you" };
    const words = (changes) => describeSummary({ summary, decision: decision([], changes) }, []);
    assert.equal(words({ layout: [{ kind: "summary" }] }), "Read");
    assert.equal(words({ layout: [] }), "Summary of earlier messages, by you");
  });
});
