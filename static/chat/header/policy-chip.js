/** The policy of the next message in words, and the choice of another, which changes the page's address. */

import { byId, h, setChildren, setText } from "../elements/dom.js";
import { icon } from "../elements/icons.js";
import { Popover } from "../elements/popover.js";
import { clearHistoryParameters, hasHistoryParameters, setParameters } from "../net/address.js";
import { capitalize, formatNumber } from "../state/format.js";

/** @import { AddressChanges, Decision, Offer } from "../types/wire.js" */

const LOSSES = ["bad", "locked", "not allowed"];

export class PolicyChip {
  /** @param {() => void} changed called after the address was rewritten */
  constructor(changed) {
    this.changed = changed;
    this.words = byId("chip-words");
    this.button = byId("chip");
    /** @type {Decision|null} */
    this.decision = null;
    this.popover = new Popover(this.button, {
      label: "What the model sees",
      class: "policy-pop",
      fill: (box) => this.#fill(box),
    });
  }

  /** @param {Decision|null} decision */
  update(decision) {
    if (decision === this.decision) return;
    this.decision = decision;
    if (!decision) {
      setText(this.words, "What the model sees");
      return;
    }
    const [, head, tail] = /^([^,]*?\d[\d,]*|[^,]+)(.*)$/u.exec(capitalize(decision.in_words)) ?? ["", decision.in_words, ""];
    setChildren(
      this.words,
      decision.locked && icon("lock", 13),
      h("b", {}, head), tail,
      decision.locked && h("span", { class: "src" }, " set by the administrator"),
    );
    this.button.classList.toggle("locked", Boolean(decision.locked));
    if (this.popover.shown) this.#refresh();
  }

  /**
   * Changes the page's address, which holds from the next message on.
   * @param {AddressChanges} changes
   */
  setAddress(changes) {
    setParameters(changes);
    this.changed();
  }

  /** @param {HTMLElement} box */
  #fill(box) {
    const { decision } = this;
    if (!decision?.offers) {
      setChildren(box, h("p", { class: "pop-note" }, "The settings arrive with the connection."));
      return;
    }
    const { closed, list } = decision.offers;
    const shut = Boolean(closed);
    this.notes = h("div", { class: "pop-notes", role: "status" });
    this.back = h("button", { type: "button", class: "link", on: { click: () => this.#toTemplate() } },
      "Back to the template's setting");
    setChildren(
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

  /**
   * @param {Offer} choice
   * @param {Decision} decision
   * @param {boolean} shut
   */
  #choice(choice, decision, shut) {
    const { key, title, about, allowed, why } = choice;
    const barred = !allowed && !shut;
    const radio = h("input", { type: "radio", name: "policy", value: key, disabled: barred });
    radio.checked = choice.in_force;
    radio.addEventListener("change", () => this.setAddress(choice.address));
    return h("div", { class: "choice" },
      h("label", {}, radio, h("span", {}, h("b", {}, title), h("small", {}, barred ? `${capitalize(why)}.` : about))),
      choice.length && this.#stepper(choice, decision, shut));
  }

  /**
   * @param {Offer} choice
   * @param {Decision} decision
   * @param {boolean} shut
   */
  #stepper(choice, decision, shut) {
    const input = h("input", {
      type: "number", min: "0", max: "1000000", step: "1", inputmode: "numeric", id: "policy-length", disabled: shut,
      "aria-label": "How many of your messages",
    });
    input.value = String(decision.settings.length.value);
    const applyLength = () => {
      if (input.value.trim() === "") return;
      // Setting a length also chooses the policy that has one.
      const now = this.decision?.offers?.list.find((one) => one.key === choice.key)?.in_force;
      this.setAddress({ ...(now ? {} : choice.address), historyLength: input.value.trim() });
    };
    /** @param {number} by */
    const step = (by) => {
      input.value = String(Math.max(1, Number(input.value || 0) + by));
      applyLength();
    };
    input.addEventListener("input", applyLength);
    /**
     * @param {number} by
     * @param {string} label
     */
    const button = (by, label) =>
      h("button", { type: "button", disabled: shut, "aria-label": label, on: { click: () => step(by) } },
        by > 0 ? "+" : "−");
    return h("span", { class: "stepper" }, button(-1, "One fewer"), input, button(1, "One more"));
  }

  /**
   * @param {Decision} decision
   * @param {boolean} shut
   */
  #budget(decision, shut) {
    const input = h("input", {
      type: "number", min: "1", step: "1", inputmode: "numeric", id: "policy-tokens", disabled: shut,
      placeholder: formatNumber(decision.limit),
    });
    const budget = decision.settings.tokens?.value;
    input.value = budget === null || budget === undefined ? "" : String(budget);
    input.addEventListener("input", () => this.setAddress({ historyTokens: input.value.trim() || null }));
    return h("div", { class: "budget" }, h("label", { for: "policy-tokens" }, "At most this many tokens"), input);
  }

  #toTemplate() {
    clearHistoryParameters();
    this.popover.box.focus();
    this.changed();
  }

  /** Follows the decision, but leaves the field that is being typed in alone. */
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
    setChildren(this.notes, addressProblems(decision).map((why) => h("p", {}, icon("warn", 13), why)));
    if (this.back) this.back.hidden = Boolean(decision.offers.closed) || !hasHistoryParameters();
  }
}

/**
 * Why parameters of the address do not apply.
 * @param {Decision} decision
 */
function addressProblems(decision) {
  if (decision.offers?.closed) return [];
  const { conversation, ...own } = decision.settings;
  return Object.values(own)
    .flatMap((setting) => setting.said)
    .filter((one) => one.source === "URL" && LOSSES.includes(one.outcome))
    .map((one) => `${one.name}=${one.raw}: ${one.why}`);
}

/**
 * Why nothing can be chosen here; where the environment decides, the administrator's reason.
 * @param {Decision} decision
 * @param {string} closed
 */
function closedNote(decision, closed) {
  if (!decision.locked) return h("div", { class: "lock-note" }, icon("lock", 15), h("p", {}, `${capitalize(closed)}.`));
  const { conversation = {}, ...own } = decision.settings;
  const values = [...Object.values(own), ...Object.values(conversation)].flatMap((setting) => setting.said);
  const names = [...new Set(
    values.filter((one) => one.source === "environment" && one.outcome === "won").map((one) => one.name),
  )];
  return h("div", { class: "lock-note" },
    icon("lock", 15),
    h("div", {},
      h("p", {}, decision.lock_reason || "The administrator decides this here."),
      names.length > 0 && h("p", {}, "Set by ", names.map((name, index) => [index ? ", " : "", h("code", {}, name)]).flat())));
}
