/** A chat that has not begun: the agent, its model, and suggestions. */

import { cardLines } from "../elements/agent-card.js";
import { h, setChildren } from "../elements/dom.js";
import { say } from "../words/say.js";

/** @import { State } from "../types/state.js" */

/**
 * @param {HTMLElement} intro is above the greeting
 * @param {HTMLElement} prompts is below it
 * @param {State} state
 * @param {(text: string) => void} suggest
 */
export function drawEmptyChat(intro, prompts, state, suggest) {
  const { agent } = state;
  if (!agent) {
    setChildren(intro);
    setChildren(prompts);
    return;
  }
  setChildren(
    intro,
    h("h2", { class: "intro-name" }, agent.name),
    agent.description && h("p", { class: "intro-about" }, agent.description),
    agent.provider?.note && h("p", { class: "intro-model" }, agent.provider.note),
    cardLines(agent, agent.provider?.tools === false),
  );
  setChildren(
    prompts,
    (agent.prompts ?? []).map((text) =>
      h("button", { type: "button", class: "prompt", on: { click: () => suggest(text) } }, text)),
  );
  prompts.setAttribute("role", "group");
  prompts.setAttribute("aria-label", say("Suggestions"));
}
