/** The controls of a chat's temperature and longest reply, in the menu of the models. */

import { byId, setText } from "../elements/dom.js";
import { formatNumber } from "../state/format.js";
import { say } from "../words/say.js";

/** @import { ChatTuning } from "./tuning.js" */

/**
 * @param {ChatTuning} tuning
 * @param {Element} place after which they are shown
 */
export function showTuning(tuning, place) {
  const { content } = byId("tuning-template", HTMLTemplateElement);
  place.after(document.importNode(content, true));
  const own = byId("tuning-own", HTMLInputElement);
  const slider = byId("tuning-temperature", HTMLInputElement);
  const tokens = byId("tuning-length", HTMLInputElement);
  const { temperature, max_tokens: length } = tuning.now;
  byId("tuning", HTMLDetailsElement).open = Object.keys(tuning.now).length > 0;
  own.checked = temperature === undefined;
  slider.value = String(temperature ?? 1);
  tokens.value = String(length ?? "");
  const draw = () => {
    slider.disabled = own.checked;
    setText(byId("tuning-shown"), own.checked ? "" : formatNumber(Number(slider.value)));
  };
  const choose = () => {
    draw();
    if (!tokens.validity.valid) {
      const bounds = { min: tokens.min, max: formatNumber(Number(tokens.max)) };
      const words = say(
        "Enter a whole number from {min} to {max}. The value before is kept.",
        bounds,
      );
      return setText(byId("tuning-note"), words);
    }
    tuning.choose({
      ...(!own.checked && { temperature: Number(slider.value) }),
      ...(tokens.value && { max_tokens: Number(tokens.value) }),
    });
  };
  // What of it the model doesn't take, and how long its replies are now, are in every preview.
  tuning.told = (decision) => {
    if (!decision || !tokens.isConnected) return;
    if (!tokens.value) tokens.placeholder = formatNumber(decision.reply);
    setText(byId("tuning-note"), (decision.dropped ?? []).join(" "));
  };
  own.addEventListener("change", choose);
  slider.addEventListener("input", draw);
  for (const input of [slider, tokens]) input.addEventListener("change", choose);
  draw();
  tuning.told(tuning.decision);
}
