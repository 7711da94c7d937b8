/** What applies to the next message, in words, and the means to change it: the page's own address. */

import { byId, h, put, say } from "../elements/dom.js";
import { capital, number } from "../state/format.js";
import { icon } from "../elements/icons.js";
import { rewrite, saysHistory, withoutHistory } from "../net/page-data.js";
import { Popover } from "../elements/popover.js";

const LOSSES = ["bad", "locked", "not allowed"];

export class Chip {
  /** @param {() => void} changed called after the address was rewritten */
  constructor(changed) {
    this.changed = changed;
    this.words = byId("chip-words");
    this.button = byId("chip");
    /** @type {import("../state/state.js").Decision|null} */
    this.decision = null;
    this.popover = new Popover(this.button, {
      label: "What the model sees",
      class: "policy-pop",
      fill: (box) => this.#fill(box),
    });
  }

  /** @param {import("../state/state.js").Decision|null} decision */
  update(decision) {
    if (decision === this.decision) return;
    this.decision = decision;
    if (!decision) {
      say(this.words, "What the model sees");
      return;
    }
    const [, head, tail] = /^([^,]*?\d[\d,]*|[^,]+)(.*)$/u.exec(capital(decision.in_words)) ?? ["", decision.in_words, ""];
    put(
      this.words,
      decision.locked && icon("lock", 13),
      h("b", {}, head), tail,
      decision.locked && h("span", { class: "src" }, " set by the administrator"),
    );
    this.button.classList.toggle("locked", Boolean(decision.locked));
    if (this.popover.shown) this.#refresh();
  }

  /** Says in the page's address what applies from the next message on. */
  say(changes) {
    rewrite(changes);
    this.changed();
  }

  /** @param {HTMLElement} box */
  #fill(box) {
    const { decision } = this;
    if (!decision?.offers) {
      put(box, h("p", { class: "pop-note" }, "The settings arrive with the connection."));
      return;
    }
    const { closed, list } = decision.offers;
    const shut = Boolean(closed);
    this.notes = h("div", { class: "pop-notes", role: "status" });
    this.back = h("button", { type: "button", class: "link", on: { click: () => this.#toTemplate() } },
      "Back to the template's setting");
    put(
      box,
      h("h2", { class: "pop-title" }, "What the model sees of this chat"),
      shut && closedNote(decision, closed),
      h("fieldset", { disabled: shut, class: "choices" },
        h("legend", { class: "hidden" }, "Policy"),
        list.map((choice) => this.#choice(choice, decision, shut))),
      this.#budget(decision, shut),
      this.notes,
      h("div", { class: "pop-foot" }, this.back),
    );
    this.#refresh();
  }

  #choice(choice, decision, shut) {
    const { key, title, about, allowed, why } = choice;
    const barred = !allowed && !shut;
    const radio = h("input", { type: "radio", name: "policy", value: key, disabled: barred });
    radio.checked = choice.in_force;
    radio.addEventListener("change", () => this.say(choice.address));
    return h("div", { class: "choice" },
      h("label", {}, radio, h("span", {}, h("b", {}, title), h("small", {}, barred ? `${capital(why)}.` : about))),
      choice.length && this.#stepper(choice, decision, shut));
  }

  #stepper(choice, decision, shut) {
    const input = h("input", {
      type: "number", min: "0", max: "1000000", step: "1", inputmode: "numeric", id: "policy-length", disabled: shut,
      "aria-label": "How many of your messages",
    });
    input.value = String(decision.settings.length.value);
    const say = () => {
      if (input.value.trim() === "") return;
      // Whoever sets a length means the policy that has one.
      const now = this.decision?.offers?.list.find((one) => one.key === choice.key)?.in_force;
      this.say({ ...(now ? {} : choice.address), historyLength: input.value.trim() });
    };
    const step = (by) => {
      input.value = String(Math.max(1, Number(input.value || 0) + by));
      say();
    };
    input.addEventListener("input", say);
    const button = (by, label) =>
      h("button", { type: "button", disabled: shut, "aria-label": label, on: { click: () => step(by) } },
        by > 0 ? "+" : "−");
    return h("span", { class: "stepper" }, button(-1, "One fewer"), input, button(1, "One more"));
  }

  #budget(decision, shut) {
    const input = h("input", {
      type: "number", min: "1", step: "1", inputmode: "numeric", id: "policy-tokens", disabled: shut,
      placeholder: number(decision.limit),
    });
    const said = decision.settings.tokens?.value;
    input.value = said === null || said === undefined ? "" : String(said);
    input.addEventListener("input", () => this.say({ historyTokens: input.value.trim() || null }));
    return h("div", { class: "budget" }, h("label", { for: "policy-tokens" }, "At most this many tokens"), input);
  }

  #toTemplate() {
    withoutHistory();
    this.popover.box.focus();
    this.changed();
  }

  /** Follows the decision without taking what is being typed away. */
  #refresh() {
    const { decision } = this;
    if (!decision?.offers || !this.notes) return;
    for (const choice of decision.offers.list) {
      const radio = /** @type {HTMLInputElement|null} */ (this.popover.box.querySelector(`input[value="${CSS.escape(choice.key)}"]`));
      if (radio) radio.checked = choice.in_force;
    }
    for (const [id, value] of [["policy-length", decision.settings.length.value], ["policy-tokens", decision.settings.tokens?.value]]) {
      const input = /** @type {HTMLInputElement|null} */ (this.popover.box.querySelector(`#${id}`));
      if (input && input !== document.activeElement) input.value = value === null || value === undefined ? "" : String(value);
    }
    put(this.notes, complaints(decision).map((why) => h("p", {}, icon("warn", 13), why)));
    if (this.back) this.back.hidden = Boolean(decision.offers.closed) || !saysHistory();
  }
}

/** Why something that the address says does not apply. */
function complaints(decision) {
  if (decision.offers.closed) return [];
  const { conversation, ...own } = decision.settings;
  const said = Object.values(own).flatMap((setting) => setting.said);
  return said
    .filter((one) => one.source === "URL" && LOSSES.includes(one.outcome))
    .map((one) => `${one.name}=${one.raw}: ${one.why}`);
}

/** Why nothing can be chosen here: the administrator's reason where the environment decides. */
function closedNote(decision, closed) {
  if (!decision.locked) return h("div", { class: "lock-note" }, icon("lock", 15), h("p", {}, `${capital(closed)}.`));
  const { conversation = {}, ...own } = decision.settings;
  const said = [...Object.values(own), ...Object.values(conversation)].flatMap((setting) => setting.said);
  const names = [...new Set(
    said.filter((one) => one.source === "environment" && one.outcome === "won").map((one) => one.name),
  )];
  return h("div", { class: "lock-note" },
    icon("lock", 15),
    h("div", {},
      h("p", {}, decision.lock_reason || "The administrator decides this here."),
      names.length > 0 && h("p", {}, "Set by ", names.map((name, index) => [index ? ", " : "", h("code", {}, name)]).flat())));
}
