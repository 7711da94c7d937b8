/** The tools of an agent, and those of them that are missing here. */

import { h } from "./dom.js";
import { icon } from "./icons.js";

/** @import { Agent, MissingTool } from "../types/wire.js" */

/**
 * @param {Agent} agent
 * @param {boolean} toolless its model can't use tools
 */
export function toolLines({ tools = [], missing = [] }, toolless) {
  const able = tools.length > 0 && h("p", { class: "agent-tools" }, `Tools: ${tools.join(", ")}`);
  const cant = tools.length > 0 && toolless
    && warningLine("The model that answers can't use tools. The agent answers without them.");
  return [able, cant, ...missingSentences(missing).map(warningLine)].filter(Boolean);
}

/**
 * One sentence for each reason, with all the tools that are missing for it.
 * @param {MissingTool[]} missing
 */
function missingSentences(missing) {
  const reasons = new Set(missing.map(({ reason }) => reason));
  return [...reasons].map((reason) => {
    const names = missing.filter((one) => one.reason === reason).map(({ name }) => name);
    const sentence = `${names.join(", ")} ${names.length > 1 ? "are" : "is"} missing: ${reason}`;
    return /[.!?]$/.test(sentence) ? sentence : `${sentence}.`;
  });
}

/** @param {string} sentence */
const warningLine = (sentence) => h("p", { class: "agent-lacks" }, icon("warn", 13), h("span", {}, sentence));
