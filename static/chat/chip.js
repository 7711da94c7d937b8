/** What applies to the next message, in words, and the means to change it: the page's own address. */

import { byId, h, put, say } from "./dom.js";
import { capital, number } from "./format.js";
import { icon } from "./icons.js";
import { rewrite, saysHistory, withoutHistory } from "./page.js";
import { Popover } from "./popover.js";

const CHOICES = [
  { policy: "none", words: "Only the message you send", more: "Nothing said before is sent." },
  { policy: "lastN", words: "The last messages", more: "Yours, and what answered them." },
  { policy: "all", words: "Everything", more: "As far as the model has room." },
];
const LOSSES = ["bad", "locked", "not allowed"];

export class Chip {
  /** @param {() => void} changed called after the address was rewritten */
  constructor(changed) {
    this.changed = changed;
    this.words = byId("chip-words");
    this.button = byId("chip");
    /** @type {import("./state.js").Decision|null} */
    this.decision = null;
    this.popover = new Popover(this.button, {
      label: "What the model sees",
      class: "policy-pop",
      fill: (box) => this.#fill(box),
    });
  }

  /** @param {import("./state.js").Decision|null} decision */
  update(decision) {
    if (decision === this.decision) return;
    this.decision = decision;
    if (!decision) {
      say(this.words, "What the model sees");
      return;
    }
    const [, head, tail] = /^(.*?\d[\d,]*|\S+)(.*)$/u.exec(capital(decision.in_words)) ?? ["", decision.in_words, ""];
    put(
      this.words,
      decision.locked && icon("lock", 13),
      h("b", {}, head), tail,
      decision.locked && h("span", { class: "src" }, " set by the administrator"),
    );
    this.button.classList.toggle("locked", Boolean(decision.locked));
    if (this.popover.shown) this.#refresh();
  }

  /** @param {HTMLElement} box */
  #fill(box) {
    const { decision } = this;
    if (!decision) {
      put(box, h("p", { class: "pop-note" }, "The settings arrive with the connection."));
      return;
    }
    const locked = Boolean(decision.locked);
    this.length = this.#stepper(decision, locked);
    this.budget = this.#budget(decision, locked);
    this.notes = h("div", { class: "pop-notes", role: "status" });
    this.back = h("button", { type: "button", class: "link", on: { click: () => this.#toTemplate() } },
      "Back to the template's setting");
    put(
      box,
      h("h2", { class: "pop-title" }, "What the model sees of this chat"),
      locked && lockNote(decision),
      h("fieldset", { disabled: locked, class: "choices" },
        h("legend", { class: "hidden" }, "Policy"),
        CHOICES.map((choice) => this.#choice(choice, decision))),
      this.budget,
      this.notes,
      h("div", { class: "pop-foot" }, this.back),
    );
    this.#refresh();
  }

  #choice({ policy, words, more }, decision) {
    const radio = h("input", { type: "radio", name: "policy", value: policy });
    radio.checked = decision.settings.policy.value === policy;
    radio.addEventListener("change", () => this.#say({ historyPolicy: policy }));
    return h("div", { class: "choice" },
      h("label", {}, radio, h("span", {}, h("b", {}, words), h("small", {}, more))),
      policy === "lastN" && this.length);
  }

  #stepper(decision, locked) {
    const input = h("input", {
      type: "number", min: "0", max: "1000000", step: "1", inputmode: "numeric", id: "policy-length", disabled: locked,
      "aria-label": "How many of your messages",
    });
    input.value = String(decision.settings.length.value);
    const step = (by) => {
      input.value = String(Math.max(1, Number(input.value || 0) + by));
      this.#sayLength(input);
    };
    input.addEventListener("input", () => this.#sayLength(input));
    const button = (by, label) =>
      h("button", { type: "button", disabled: locked, "aria-label": label, on: { click: () => step(by) } },
        by > 0 ? "+" : "−");
    return h("span", { class: "stepper" }, button(-1, "One fewer"), input, button(1, "One more"));
  }

  #sayLength(input) {
    if (input.value.trim() === "") return;
    // Whoever sets a length means the policy that has one.
    const policy = this.decision?.settings.policy.value === "lastN" ? {} : { historyPolicy: "lastN" };
    this.#say({ ...policy, historyLength: input.value.trim() });
  }

  #budget(decision, locked) {
    const input = h("input", {
      type: "number", min: "1", step: "1", inputmode: "numeric", id: "policy-tokens", disabled: locked,
      placeholder: number(decision.limit),
    });
    const said = decision.settings.tokens?.value;
    input.value = said === null || said === undefined ? "" : String(said);
    input.addEventListener("input", () => this.#say({ historyTokens: input.value.trim() || null }));
    return h("div", { class: "budget" }, h("label", { for: "policy-tokens" }, "At most this many tokens"), input);
  }

  #say(changes) {
    rewrite(changes);
    this.changed();
  }

  #toTemplate() {
    withoutHistory();
    this.popover.box.focus();
    this.changed();
  }

  /** Follows the decision without taking what is being typed away. */
  #refresh() {
    const { decision } = this;
    if (!decision || !this.notes) return;
    for (const radio of this.popover.box.querySelectorAll("input[type=radio]")) {
      const one = /** @type {HTMLInputElement} */ (radio);
      one.checked = one.value === decision.settings.policy.value;
    }
    for (const [id, value] of [["policy-length", decision.settings.length.value], ["policy-tokens", decision.settings.tokens?.value]]) {
      const input = /** @type {HTMLInputElement|null} */ (this.popover.box.querySelector(`#${id}`));
      if (input && input !== document.activeElement) input.value = value === null || value === undefined ? "" : String(value);
    }
    put(this.notes, complaints(decision).map((why) => h("p", {}, icon("warn", 13), why)));
    if (this.back) this.back.hidden = Boolean(decision.locked) || !saysHistory();
  }
}

/** Why something that the address says does not apply. */
function complaints(decision) {
  if (decision.locked) return [];
  const said = Object.values(decision.settings).flatMap((setting) => setting.said);
  return said
    .filter((one) => one.source === "URL" && LOSSES.includes(one.outcome))
    .map((one) => `${one.name}=${one.raw}: ${one.why}`);
}

function lockNote(decision) {
  const said = Object.values(decision.settings).flatMap((setting) => setting.said);
  const names = [...new Set(
    said.filter((one) => one.source === "environment" && one.outcome === "won").map((one) => one.name),
  )];
  return h("div", { class: "lock-note" },
    icon("lock", 15),
    h("div", {},
      h("p", {}, decision.lock_reason || "The administrator decides this here."),
      names.length > 0 && h("p", {}, "Set by ", names.map((name, index) => [index ? ", " : "", h("code", {}, name)]).flat())));
}
