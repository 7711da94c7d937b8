/** "Answer otherwise": the models and the memories with which an answer can be tried again, in a small menu. */

import { h, pressable, setChildren, setText } from "../elements/dom.js";
import { icon } from "../elements/icons.js";
import { walkMenu } from "../elements/menu-keys.js";
import { Popover } from "../elements/popover.js";
import { getJson } from "../net/http.js";
import { describeExchanges } from "../state/exchanges.js";
import { capitalize, formatDollars, joinParts } from "../state/format.js";
import { briefModel, describeModel } from "../state/model-facts.js";
import { say, sayCount } from "../words/say.js";

/**
 * @import { ComparisonAnswer, ComparisonRow, Model, ModelGroup, ModelOffer } from "../types/page.js"
 * @import { ChoiceChanges } from "../types/wire.js"
 */

/**
 * A button with its menu, as one element.
 * @param {string} address of the models that the agent can be given
 * @param {(model?: string, memory?: ChoiceChanges) => void} take called with `provider:model`, or with what a policy
 *   changes of the choice that is kept
 * @param {(() => Promise<ComparisonAnswer>)|null} memories the same turn under every policy; null where nobody knows
 */
export function againMenu(address, take, memories) {
  const button = h(
    "button",
    {
      type: "button",
      "data-act": "again-with",
      "aria-label": say("Answer with another model or memory"),
      title: say("Answer with another model or memory"),
    },
    icon("down", 12),
  );
  const element = h("span", { class: "again-with" }, button);
  const popover = new Popover(button, {
    label: say("Answer with another model or memory"),
    class: "menu again-pop",
    free: true,
    fill: (box) => void draw(box),
  });
  walkMenu(popover.box);
  return element;

  /** @param {HTMLElement} box */
  async function draw(box) {
    const note = h("p", { class: "pop-note", role: "status" }, say("Looking for models…"));
    setChildren(box, h("h2", { class: "pop-title" }, say("Try again with")), note);
    try {
      /** @type {ModelOffer} */
      const offer = await getJson(address);
      if (!note.isConnected) return;
      if (offer.locked) setText(note, offer.locked);
      else note.remove();
      box.append(
        ...(offer.locked ? [] : offer.groups.map(group)),
        h(
          "p",
          { class: "pop-note again-foot" },
          say("For this answer alone. The one that is there is kept."),
        ),
      );
    } catch (error) {
      setText(note, /** @type {Error} */ (error).message);
    }
    if (memories)
      await memories().then(
        ({ rows }) => box.isConnected && box.querySelector(".again-foot")?.before(memory(rows)),
        () => {},
      );
    if (document.activeElement === box) box.querySelector("button")?.focus();
  }

  /** @param {ModelGroup} found */
  function group({ title, models }) {
    return h("section", { class: "menu again-group" }, h("h3", {}, title), models.map(one));
  }

  /** @param {ComparisonRow[]} rows */
  function memory(rows) {
    return h(
      "section",
      { class: "menu again-group" },
      h("h3", {}, say("With another memory")),
      rows.map((row) =>
        pressable(
          {
            disabled: !row.allowed || row.in_force,
            "data-policy": row.key,
            title: row.outcome && sayCount("{count} token", "{count} tokens", row.outcome.tokens),
          },
          () => (popover.close(), take(undefined, row.changes)),
          h("b", {}, capitalize(row.in_words)),
          h("small", {}, describeMemory(row)),
        ),
      ),
    );
  }

  /** @param {Model} model */
  function one(model) {
    return pressable(
      { disabled: Boolean(model.why_not), title: describeModel(model) },
      () => (popover.close(), take(model.name)),
      h("b", {}, model.label),
      h("small", {}, model.why_not || briefModel(model)),
    );
  }
}

/**
 * What an answer would be made from, and about what its request costs: it is a real one.
 * @param {ComparisonRow} row
 */
function describeMemory({ allowed, why, in_force: now, outcome, note }) {
  if (now) return say("used for this answer");
  if (!allowed) return capitalize(why);
  if (!outcome) return note;
  return joinParts([
    describeExchanges(outcome),
    outcome.cost !== null &&
      say("about {price} plus the answer", { price: formatDollars(outcome.cost) }),
  ]);
}
