import assert from "node:assert/strict";
import test from "node:test";

import { fieldsOf, templateOf } from "../../static/chat/header/agent-template.js";

const DOCK = {
  name: "Dock",
  personality: ["You are Dock.", "Be brief."],
  nodes: ["llm.groq", "llm.openai", "clock"],
  nodeConfigurations: { "llm.groq": { model: "llama", temperature: 0.3 }, "llm.openai": {} },
  chatSettings: { historyPolicy: "lastN", historyLength: 4, initialMessages: ["One.", "Two."] },
  orchestration: { steps: [] },
};

test("a template that nobody changed comes back with all that the form doesn't show", () => {
  const again = templateOf(DOCK, fieldsOf(DOCK), {});
  assert.deepEqual(
    { ...again, personality: DOCK.personality },
    {
      ...DOCK,
      mark: "",
      description: "",
      chatSettings: { ...DOCK.chatSettings, chatPrompts: [] },
    },
  );
  assert.equal(again.personality, "You are Dock.\nBe brief.");
});

test("another model keeps the settings of the one before", () => {
  const changed = templateOf(DOCK, { ...fieldsOf(DOCK), model: "openai:gpt:8b" }, {});
  assert.deepEqual(changed.nodes, ["llm.openai", "clock"]);
  assert.deepEqual(changed.nodeConfigurations, { "llm.openai": { model: "gpt:8b" } });
  const usual = templateOf(DOCK, { ...fieldsOf(DOCK), model: "" }, {});
  assert.deepEqual([usual.nodes, usual.nodeConfigurations], [["clock"], {}]);
});

test("numbers of the memory are numbers in the template, and what was taken back is gone", () => {
  const memory = { historyPolicy: "all", historyLength: "12", historyTokens: null };
  const { chatSettings } = templateOf(DOCK, fieldsOf(DOCK), memory);
  assert.equal(chatSettings.historyLength, 12);
  assert.equal(chatSettings.historyPolicy, "all");
  assert.ok(!("historyTokens" in chatSettings));
});

test("what a later version stored is read as text", () => {
  const odd = { name: 3, personality: null, nodes: "x", chatSettings: { chatPrompts: "one" } };
  assert.deepEqual(fieldsOf(odd), {
    name: "3",
    mark: "",
    description: "",
    personality: "",
    model: "",
    tools: [],
    chatPrompts: "one",
    initialMessages: "",
  });
});
