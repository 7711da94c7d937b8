/** What is said of an agent besides its description: notes, tools, and what it asks for in vain. */

import { h } from "./dom.js";
import { icon } from "./icons.js";
import { say, sayCount } from "../words/say.js";

/** @import { Agent, MissingTool } from "../types/wire.js" */

/** @param {Agent} agent */
export function cardLines(agent) {
  return [
    ...(agent.notes ?? []).map((text) => h("p", { class: "agent-notes" }, text)),
    ...ableLines(agent).map((text) => h("p", { class: "agent-tools" }, text)),
    ...lackSentences(agent).map(warningLine),
  ];
}

/**
 * All that a menu of agents hasn't room for.
 * @param {Agent} agent
 */
export const cardTitle = (agent) =>
  [
    agent.description,
    agent.version && say("Version {version}", { version: agent.version }),
    agent.tags?.join(", "),
    agent.provider?.note,
    ...(agent.notes ?? []),
    ...ableLines(agent),
    ...lackSentences(agent),
  ]
    .filter(Boolean)
    .join("\n");

/** @param {Agent} agent */
const ableLines = ({ tools = [] }) =>
  tools.length ? [say("Tools: {tools}", { tools: tools.join(", ") })] : [];

/** @param {Agent} agent */
export const lackSentences = ({ tools = [], missing = [], unused = [], provider }) => [
  ...(tools.length && provider?.tools === false
    ? [say("The current model can't use tools, so this agent works without them.")]
    : []),
  ...missingSentences(missing),
  ...unused.map(({ sentence }) => sentence),
];

/**
 * One sentence for each reason, with all the tools that are missing for it.
 * @param {MissingTool[]} missing
 */
function missingSentences(missing) {
  return [...Map.groupBy(missing, ({ reason }) => reason)].map(([reason, tools]) => {
    const sentence = sayCount(
      "{names} is missing: {reason}",
      "{names} are missing: {reason}",
      tools.length,
      { names: tools.map(({ name }) => name).join(", "), reason },
    );
    return /[.!?]$/.test(sentence) ? sentence : `${sentence}.`;
  });
}

/** @param {string} sentence */
const warningLine = (sentence) =>
  h("p", { class: "agent-lacks" }, icon("warn", 13), h("span", {}, sentence));
