/** A chat that has not begun: what this page is for, the agent, and suggestions. */

import { cardLines } from "../elements/agent-card.js";
import { h, setChildren } from "../elements/dom.js";
import { say } from "../words/say.js";
import { lineDrawing } from "./line-drawing.js";

/** @import { State } from "../types/state.js" */

/**
 * @param {HTMLElement} intro is above the greeting
 * @param {HTMLElement} prompts is below it
 * @param {State} state
 * @param {{suggest: (text: string) => void, betterModel: () => void}} actions
 */
export function drawEmptyChat(intro, prompts, state, { suggest, betterModel }) {
  const { agent } = state;
  const drawn = JSON.stringify(agent);
  if (intro.dataset.drawn === drawn) return; // the drawing goes on moving, and the focus stays
  intro.dataset.drawn = drawn;
  if (!agent) {
    setChildren(intro);
    setChildren(prompts);
    return;
  }
  const { provider } = agent;
  setChildren(
    intro,
    h("h2", { class: "intro-title" }, say("You see and choose what the model remembers.")),
    lineDrawing(),
    agent.description && h("p", { class: "intro-about" }, agent.description),
    provider?.note && h("p", { class: "intro-model" }, provider.note, " ", provider.demonstration
      && h("button", { type: "button", class: "link", on: { click: betterModel } }, say("Use a better model"))),
    cardLines(agent, provider?.tools === false),
  );
  setChildren(
    prompts,
    (agent.prompts ?? []).map((text) =>
      h("button", { type: "button", class: "prompt", on: { click: () => suggest(text) } }, text)),
  );
  prompts.setAttribute("role", "group");
  prompts.setAttribute("aria-label", say("Suggestions"));
}
