/** Models and the running summary in words. */

import assert from "node:assert/strict";
import { describe, it } from "node:test";

import { describeModel } from "../../static/chat/state/model-facts.js";
import { describeSummary, sendsSummary } from "../../static/chat/state/summary.js";
import { SUMMARY, decision } from "./records.js";

describe("a model", () => {
  const MODEL = {
    name: "p:m",
    label: "M",
    window: 200_000,
    price: { prompt: 3, cached: null, completion: 15 },
    takes: ["image", "pdf"],
    tools: true,
  };

  it("is described by its window, its abilities and its price", () => {
    assert.equal(
      describeModel(MODEL),
      "200,000 tokens · takes images, PDF, uses tools · $3.00\u00a0in, $15.00\u00a0out per million tokens",
    );
  });

  it("leaves out what isn't known and says what is assumed", () => {
    assert.equal(
      describeModel({ ...MODEL, window: null, price: null, takes: [], tools: false }),
      "text only, no tools",
    );
    assert.match(describeModel({ ...MODEL, assumed: true }), /^200,000 tokens \(assumed\)/);
  });
});

describe("the running summary", () => {
  const under = (policy) => decision([], { settings: { policy: { value: policy } } });
  const words = (summary, policy) =>
    describeSummary({ summary: { ...SUMMARY, ...summary }, decision: under(policy) }, ["sums"]);

  it("has a label where there is one, whatever the policy", () => {
    assert.equal(
      words({ version: 2, messages: 8, by: "a model" }, "other"),
      "Summary of earlier messages, by a model",
    );
    assert.equal(
      words({ version: 2, messages: 1, on: false }, "other"),
      "Summary of earlier messages, switched off",
    );
  });

  it("has a label before the first one only under a policy that sends it", () => {
    assert.equal(words({}, "sums"), "No summary yet");
    assert.equal(words({ on: false }, "sums"), "The summary is switched off");
    assert.equal(words({}, "other"), "");
    assert.equal(describeSummary({ summary: SUMMARY, decision: null }, ["sums"]), "");
  });

  it("is sent where it is part of the request", () => {
    assert.equal(sendsSummary(decision([], { layout: [{ kind: "summary" }] })), true);
    assert.equal(sendsSummary(decision([], { layout: [] })), false);
    assert.equal(sendsSummary(null), false);
  });
});
