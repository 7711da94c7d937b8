/** A chat that has not begun: the agent, its model, and suggestions. */

import { toolLines } from "../elements/agent-tools.js";
import { h, put } from "../elements/dom.js";

/** @import { State } from "../types/state.js" */

/**
 * @param {HTMLElement} intro is above the greeting
 * @param {HTMLElement} prompts is below it
 * @param {State} state
 * @param {(text: string) => void} suggest
 */
export function emptyChat(intro, prompts, state, suggest) {
  const { agent } = state;
  if (!agent) {
    put(intro);
    put(prompts);
    return;
  }
  put(
    intro,
    h("h2", { class: "intro-name" }, agent.name),
    agent.description && h("p", { class: "intro-about" }, agent.description),
    agent.provider?.note && h("p", { class: "intro-model" }, agent.provider.note),
    toolLines(agent, agent.provider?.tools === false),
  );
  put(
    prompts,
    (agent.prompts ?? []).map((text) =>
      h("button", { type: "button", class: "prompt", on: { click: () => suggest(text) } }, text)),
  );
  prompts.setAttribute("role", "group");
  prompts.setAttribute("aria-label", "Suggestions");
}
