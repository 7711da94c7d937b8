/** A chat that has not begun: who answers, what model that is, and what could be asked. */

import { toolLines } from "../elements/agent-tools.js";
import { h, put } from "../elements/dom.js";

/**
 * @param {HTMLElement} intro stands above the greeting
 * @param {HTMLElement} prompts stands below it
 * @param {import("../state/state.js").State} state
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
