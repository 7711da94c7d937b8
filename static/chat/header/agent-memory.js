/** What an agent remembers by default, in its form: the policies that the server offers, and their numbers. */

import { byId, h, setChildren, setText } from "../elements/dom.js";
import { capitalize } from "../state/format.js";
import { say } from "../words/say.js";

/**
 * @import { AgentMemory } from "../types/page.js"
 * @import { ChoiceChanges, Offer } from "../types/wire.js"
 */

/**
 * @param {AgentMemory} memory
 * @returns {ChoiceChanges} what is chosen, once it is
 */
export function drawMemory({ closed, list, length, tokens }) {
  /** @type {ChoiceChanges} */
  const changes = {};
  const shut = Boolean(closed);
  byId("agent-memory", HTMLFieldSetElement).disabled = shut;
  setText(byId("agent-memory-note"), closed);
  /**
   * @param {HTMLInputElement} input
   * @param {string} name of the setting
   * @param {number|null} value
   */
  const follow = (input, name, value) => {
    input.value = String(value ?? "");
    input.oninput = () => (changes[name] = input.value.trim() || null);
    return input;
  };
  const counted = () => {
    const label = say("How many exchanges");
    const props = { type: "number", min: 0, max: 1_000_000, inputmode: "numeric" };
    return follow(h("input", { ...props, "aria-label": label }), "historyLength", length);
  };
  /** @param {Offer} offer */
  const choice = (offer) => {
    const barred = !offer.allowed && !shut;
    const radio = h("input", { type: "radio", name: "policy", value: offer.key, disabled: barred });
    radio.checked = offer.in_force;
    radio.onchange = () => Object.assign(changes, offer.changes);
    const about = barred ? `${capitalize(offer.why)}.` : offer.about;
    const words = h("span", {}, h("b", {}, offer.title), h("small", {}, about));
    const line = h("label", {}, radio, words);
    return h(
      "div",
      { class: barred ? "choice barred" : "choice" },
      line,
      offer.length && counted(),
    );
  };
  setChildren(byId("agent-policies"), list.map(choice));
  follow(byId("field-tokens", HTMLInputElement), "historyTokens", tokens);
  return changes;
}
