/** A chat that has not begun: what this page is for, the agent, and suggestions. */

import { cardLines } from "../elements/agent-card.js";
import { h, pressable, setChildren, textButton } from "../elements/dom.js";
import { showError } from "../elements/toast.js";
import { say } from "../words/say.js";
import { lineDrawing } from "./line-drawing.js";

/**
 * @import { Page } from "../types/page.js"
 * @import { State } from "../types/state.js"
 */

/** @type {Record<Page["memory"], string>} */
const TITLES = {
  page: say("You see and choose what the model remembers."),
  administrator: say("You see what the model remembers. Here it is set by the administrator."),
  agent: say("You see what the model remembers. Here it is set by the agent."),
};

/**
 * @param {HTMLElement} intro is above the greeting
 * @param {HTMLElement} prompts is below it
 * @param {State} state
 * @param {{suggest: (text: string) => void, sample: () => Promise<void>, betterModel: () => void, memory: Page["memory"]}} actions
 */
export function drawEmptyChat(intro, prompts, state, { suggest, sample, betterModel, memory }) {
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
    /** @type {Node} */ (document.querySelector(".brand svg")).cloneNode(true),
    h("h2", { class: "intro-title" }, TITLES[memory]),
    lineDrawing(memory === "page" && sampleButton(sample)),
    // A greeting says as much.
    !agent.greeting.length && h("p", { class: "intro-about" }, agent.description),
    provider?.note &&
      h(
        "p",
        { class: "intro-model" },
        provider.note,
        " ",
        provider.demonstration && textButton(say("Use a better model"), betterModel),
      ),
    cardLines(agent),
  );
  setChildren(
    prompts,
    (agent.prompts ?? []).map((text) => pressable({ class: "prompt" }, () => suggest(text), text)),
  );
  prompts.setAttribute("role", "group");
  prompts.setAttribute("aria-label", say("Suggestions"));
}

/**
 * The way to a chat in which all this can be looked at.
 * @param {() => Promise<void>} sample makes and opens it
 */
function sampleButton(sample) {
  const button = pressable(
    { class: "plain-button sample", title: say("A sample chat with a line and a pin.") },
    () => {
      button.disabled = true;
      sample()
        .catch(showError)
        .finally(() => (button.disabled = false));
    },
    say("See it at work"),
  );
  return button;
}
