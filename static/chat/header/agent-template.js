/** An agent's template as the fields of its form, and back: what the form doesn't show stays as it is. */

/** @import { ChoiceChanges } from "../types/wire.js" */

/**
 * @typedef {Record<string, any>} Template
 * @typedef {{name: string, mark: string, description: string, personality: string, model: string, tools: string[],
 *   chatPrompts: string, initialMessages: string}} Fields `model` is `provider:name`, "" for the usual one
 */

const LLM = /^llm\./;

/** @type {(value: unknown) => string} */
const text = (value) => (Array.isArray(value) ? value.join("\n") : String(value ?? ""));

/** @type {(template: Template) => string[]} */
const nodesOf = ({ nodes }) => (Array.isArray(nodes) ? nodes.map(String) : []);

/** @type {(template: Template) => string} */
const llmOf = (template) => nodesOf(template).find((one) => LLM.test(one)) ?? "";

/**
 * @param {Template} template as it is stored, which may be odd
 * @returns {Fields}
 */
export function fieldsOf(template) {
  const { name, mark, description, personality, chatSettings: chat = {} } = template;
  const node = llmOf(template);
  const model = text(template.nodeConfigurations?.[node]?.model);
  return {
    name: text(name),
    mark: text(mark),
    description: text(description),
    personality: text(personality),
    model: model && `${node.replace(LLM, "")}:${model}`,
    tools: nodesOf(template).filter((one) => !LLM.test(one)),
    chatPrompts: text(chat.chatPrompts),
    initialMessages: text(chat.initialMessages),
  };
}

/**
 * The template after the form was filled in.
 * @param {Template} template
 * @param {Fields} fields
 * @param {ChoiceChanges} memory what was chosen of the policy and its settings
 * @returns {Template}
 */
export function templateOf(
  template,
  { model, tools, chatPrompts, initialMessages, ...said },
  memory,
) {
  const before = fieldsOf(template);
  const chat = { ...template.chatSettings };
  for (const [key, value] of Object.entries(memory)) {
    if (value === null) delete chat[key];
    else chat[key] = /^\d+$/.test(value) ? Number(value) : value;
  }
  chat.chatPrompts = chatPrompts.split("\n").filter((line) => line.trim());
  // Several greetings stay several, as long as nobody changes them.
  if (initialMessages !== before.initialMessages)
    chat.initialMessages = initialMessages ? [initialMessages] : [];
  const made = { ...template, ...said, chatSettings: chat };
  // Several providers stay in their order, as long as nobody chooses another model.
  if (model === before.model) {
    const llms = nodesOf(template).filter((one) => LLM.test(one));
    return { ...made, nodes: [...llms, ...tools] };
  }
  if (!model) return { ...made, nodes: tools, nodeConfigurations: {} };
  const cut = model.indexOf(":");
  const node = ["llm", model.slice(0, cut)].join(".");
  const all = template.nodeConfigurations ?? {};
  const settings = { ...(all[node] ?? all[llmOf(template)]), model: model.slice(cut + 1) };
  return { ...made, nodes: [node, ...tools], nodeConfigurations: { [node]: settings } };
}
