/** "Answer with another model": the models that may answer once more, in a small menu. */

import { h, setChildren, setText } from "../elements/dom.js";
import { icon } from "../elements/icons.js";
import { Popover } from "../elements/popover.js";
import { getJson } from "../net/http.js";
import { describeModel } from "../state/model-facts.js";
import { say } from "../words/say.js";

/** @import { Model, ModelGroup, ModelOffer } from "../types/page.js" */

/**
 * A button with its menu, as one element.
 * @param {string} address of the models that the agent can be given
 * @param {(model: string) => void} take called with `provider:model`
 */
export function againMenu(address, take) {
  const button = h("button", {
    type: "button", "data-act": "again-with", "aria-haspopup": "dialog", "aria-expanded": "false",
    "aria-label": say("Answer with another model"), title: say("Answer with another model"),
  }, icon("down", 12));
  const element = h("span", { class: "again-with" }, button);
  const popover = new Popover(button, {
    label: say("Answer with another model"), class: "menu again-pop", free: true,
    fill: (box) => void draw(box),
  });
  popover.box.addEventListener("keydown", (event) => walk(popover.box, event));
  return element;

  /** @param {HTMLElement} box */
  async function draw(box) {
    const note = h("p", { class: "pop-note", role: "status" }, say("Looking for models…"));
    setChildren(box, h("h2", { class: "pop-title" }, say("Try again with")), note);
    try {
      /** @type {ModelOffer} */
      const offer = await getJson(address);
      if (!note.isConnected) return;
      if (offer.locked) return setText(note, offer.locked);
      note.remove();
      box.append(...offer.groups.map(group), h("p", { class: "pop-note again-foot" },
        say("It answers this once; the chat keeps its model. The answer that is there stays as a version.")));
    } catch (error) {
      setText(note, /** @type {Error} */ (error).message);
    }
    popover.placeFree();
    if (document.activeElement === box) box.querySelector("button")?.focus();
  }

  /** @param {ModelGroup} found */
  function group({ title, models }) {
    return h("section", { class: "menu again-group" }, h("h3", {}, title), models.map(one));
  }

  /** @param {Model} model */
  function one(model) {
    return h("button", {
      type: "button", disabled: Boolean(model.why_not),
      on: { click: () => (popover.close(), take(model.name)) },
    }, h("b", {}, model.label), h("small", {}, model.why_not || describeModel(model)));
  }
}

/**
 * @param {HTMLElement} box
 * @param {KeyboardEvent} event
 */
function walk(box, event) {
  const buttons = [...box.querySelectorAll("button")].filter((button) => !button.disabled);
  const at = buttons.indexOf(/** @type {HTMLButtonElement} */ (document.activeElement));
  /** @type {Record<string, number>} */
  const places = { ArrowDown: at + 1, ArrowUp: at - 1, Home: 0, End: -1 };
  const to = places[event.key];
  if (to === undefined || !buttons.length) return;
  event.preventDefault();
  buttons.at(to % buttons.length)?.focus();
}
