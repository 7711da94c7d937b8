/** What an agent's card says besides its description: notes, tools, and what it asks for in vain. */

import { h } from "./dom.js";
import { icon } from "./icons.js";
import { say, sayCount } from "../words/say.js";

/** @import { Agent, MissingTool } from "../types/wire.js" */

/**
 * @param {Agent} agent
 * @param {boolean} toolless its model can't use tools
 */
export function cardLines({ notes = [], tools = [], missing = [], unused = [] }, toolless) {
  const able =
    tools.length > 0 &&
    h("p", { class: "agent-tools" }, say("Tools: {tools}", { tools: tools.join(", ") }));
  const cant =
    tools.length > 0 &&
    toolless &&
    warningLine(say("The current model can't use tools, so this agent works without them."));
  const lacks = [...missingSentences(missing), ...unused.map(({ sentence }) => sentence)];
  return [
    ...notes.map((text) => h("p", { class: "agent-notes" }, text)),
    able,
    cant,
    ...lacks.map(warningLine),
  ].filter(Boolean);
}

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
