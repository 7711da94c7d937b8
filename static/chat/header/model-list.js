/** The models that may be chosen, in groups, with what each can do. */

import { h } from "../elements/dom.js";
import { icon } from "../elements/icons.js";
import { briefModel, describeModel } from "../state/model-facts.js";
import { say } from "../words/say.js";

/**
 * @import { Model, ModelGroup, ModelOffer } from "../types/page.js"
 * @import { IconName } from "../elements/icons.js"
 */

/**
 * @typedef {{now: string, lost: string, take: (model: Model) => void, done: () => void}} Selecting
 *   `now` is the model that answers; `lost`: the sentence on a model that is gone; `done` is called after a click
 */

// A list with more models than this is easier to search than to read.
const MANY = 12;

/**
 * @param {ModelOffer} offer
 * @param {Selecting} taking
 */
export function modelList({ locked, groups }, taking) {
  const count = groups.reduce((sum, { models }) => sum + models.length, 0);
  const list = h(
    "fieldset",
    { class: "choices", disabled: Boolean(locked) },
    h("legend", { class: "hidden" }, say("Model")),
    groups.map((group) => section(group, taking)),
  );
  return [
    locked && note("lock", locked),
    taking.lost && note("warn", taking.lost),
    count > MANY && search(list),
    list,
    !locked &&
      h("p", { class: "pop-note models-foot" }, say("Prices: in / out, per million tokens.")),
  ];
}

/**
 * @param {IconName} drawing
 * @param {string} words
 */
const note = (drawing, words) =>
  h("div", { class: "lock-note" }, icon(drawing, 15), h("p", {}, words));

/**
 * @param {ModelGroup} group
 * @param {Selecting} taking
 */
function section({ title, note: words, models }, taking) {
  return h(
    "section",
    { class: "models-group" },
    h("h3", {}, title),
    words && h("p", { class: "pop-note" }, words),
    models.map((model) => row(model, taking)),
  );
}

/**
 * @param {Model} model
 * @param {Selecting} taking
 */
function row(model, { now, take, done }) {
  const { name, label, why_not: barred = "" } = model;
  const radio = h("input", {
    type: "radio",
    name: "model",
    value: name,
    disabled: Boolean(barred),
  });
  radio.checked = name === now;
  radio.addEventListener("change", () => take(model));
  // Arrow keys only go through the list; a click also closes it.
  radio.addEventListener("click", ({ detail }) => {
    if (detail === 0) return;
    // An input that is removed from the page during its click fires no change event.
    take(model);
    done();
  });
  return h(
    "div",
    { class: barred ? "choice off" : "choice" },
    h(
      "label",
      { title: describeModel(model) },
      radio,
      h("span", {}, h("b", {}, label), h("small", {}, barred || briefModel(model))),
    ),
  );
}

/** @param {HTMLElement} list */
function search(list) {
  const input = h("input", {
    type: "search",
    class: "models-find",
    placeholder: say("Find a model"),
    "aria-label": say("Find a model"),
    autocomplete: "off",
    spellcheck: "false",
  });
  input.addEventListener("input", () => {
    const wanted = input.value.trim().toLowerCase();
    for (const one of list.querySelectorAll(".choice")) {
      /** @type {HTMLElement} */ (one).hidden = !(one.textContent ?? "")
        .toLowerCase()
        .includes(wanted);
    }
    for (const one of list.querySelectorAll(".models-group")) {
      /** @type {HTMLElement} */ (one).hidden = !one.querySelector(".choice:not([hidden])");
    }
  });
  return input;
}
