/** The policy of the next message in words, and the choice of another, which is kept with the conversation. */

import { byId, h, pressable, setChildren, setText, textButton } from "../elements/dom.js";
import { icon } from "../elements/icons.js";
import { Popover } from "../elements/popover.js";
import { copy } from "../elements/clipboard.js";
import { hasHistoryParameters, linkWith } from "../net/address.js";
import { capitalize, formatNumber } from "../state/format.js";
import { say } from "../words/say.js";

/**
 * @import { HistoryChoice } from "./history-choice.js"
 * @import { ChoiceChanges, Decision, Offer, SourceValue } from "../types/wire.js"
 */

const LOSSES = ["bad", "locked", "not allowed"];

export class PolicyChip {
  /**
   * @param {HistoryChoice} choice
   * @param {(menu: HTMLElement|null) => void} covers hears what is over the text: the menu, or nothing any more
   */
  constructor(choice, covers) {
    this.choice = choice;
    // Why a number that was typed isn't applied.
    this.wrong = "";
    /** @type {{key: string, before: Decision|null}|null} the policy picked last, and the decision it was picked at */
    this.picked = null;
    this.words = byId("chip-words");
    this.button = byId("chip");
    /** @type {Decision|null} */
    this.decision = null;
    this.popover = new Popover(this.button, {
      label: say("What the model sees in this chat"),
      class: "policy-pop",
      fill: (box) => this.#fill(box),
      shown: (open) => covers(open ? this.popover.box : null),
    });
  }

  /** @param {Decision|null} decision */
  update(decision) {
    if (decision === this.decision) return;
    this.decision = decision;
    if (!decision) {
      setText(this.words, say("What the model sees"));
      return;
    }
    const [, head, tail] = /^([^,]*?\d[\d,]*|[^,]+)(.*)$/u.exec(capitalize(decision.in_words)) ?? [
      "",
      decision.in_words,
      "",
    ];
    setChildren(
      this.words,
      decision.locked && icon("lock", 13),
      h("b", {}, head),
      h("span", { class: "tail" }, tail),
      decision.locked && h("span", { class: "src" }, ` ${say("set by the administrator")}`),
      overruledByLink(decision).length > 0 &&
        h("span", { class: "src" }, ` ${say("set by the link")}`),
    );
    if (!this.popover.shown) return;
    if (this.notes?.isConnected) this.#refresh();
    else this.#fill(this.popover.box);
  }

  /**
   * Applies from the next message on.
   * @param {ChoiceChanges} changes
   */
  choose(changes) {
    this.wrong = "";
    this.picked = null;
    this.choice.choose(changes, this.decision?.offers?.kept ?? {});
    if (this.popover.shown) this.#drawNotes();
  }

  /**
   * @param {HTMLInputElement} input a number
   * @param {ChoiceChanges} changes once it is one
   */
  #chooseNumber(input, changes) {
    if (input.validity.valid) return void this.choose(changes);
    this.wrong = say("Enter a whole number from {min} to {max}. The value before is kept.", {
      min: input.min,
      max: formatNumber(Number(input.max)),
    });
    this.#drawNotes();
  }

  /** @param {HTMLElement} box */
  #fill(box) {
    const { decision } = this;
    if (!decision?.offers) {
      setChildren(box, h("p", { class: "pop-note" }, say("Connecting…")));
      return;
    }
    const { closed, list } = decision.offers;
    const shut = Boolean(closed);
    // What can't be chosen here isn't shown; where nothing can be, the first ones tell what there is.
    const usable = list.filter((one) => one.allowed || one.in_force || shut);
    const first = usable.filter((one) => one.first !== false || one.in_force);
    const more = shut ? [] : usable.filter((one) => !first.includes(one));
    this.notes = h("div", { class: "pop-notes", role: "status" });
    this.about = h("p", { class: "pop-scope" });
    this.wrong = "";
    this.picked = null;
    this.back = this.#footButton(say("Reset to the agent's default"), () => this.choice.reset());
    this.own = this.#footButton(say("Use this chat's own choice"), () => this.choice.dropLink());
    const link = textButton(
      say("Copy link with these settings"),
      () => copy(linkWith(this.decision?.offers?.link ?? {}), link),
      { hidden: shut },
    );
    this.foot = h("div", { class: "pop-foot" }, link, this.own, this.back);
    setChildren(
      box,
      h("h2", { class: "pop-title" }, say("What the model sees in this chat")),
      shut && [closedNote(decision, closed), this.notes],
      h(
        "fieldset",
        { disabled: shut, class: "choices" },
        h("legend", { class: "hidden" }, say("Policy")),
        first.map((choice) => this.#choice(choice, decision, shut)),
        more.length > 0 && this.#more(more.map((choice) => this.#choice(choice, decision, shut))),
      ),
      this.about,
      this.#budget(decision, shut),
      !shut && this.notes,
      this.foot,
    );
    this.#refresh();
  }

  /**
   * @param {Offer} choice
   * @param {Decision} decision
   * @param {boolean} shut
   */
  #choice(choice, decision, shut) {
    const { key, title, about } = choice;
    const radio = h("input", { type: "radio", name: "policy", value: key, title: about });
    radio.checked = choice.in_force;
    radio.addEventListener("change", () => {
      this.choose(choice.changes);
      this.picked = { key, before: this.decision };
    });
    return h(
      "div",
      { class: "choice" },
      h("label", { title: about }, radio, h("b", {}, title)),
      choice.length && this.#stepper(choice, decision, shut),
    );
  }

  /**
   * Those that are chosen rarely, behind one press.
   * @param {HTMLElement[]} choices
   */
  #more(choices) {
    const rest = h("div", { hidden: true }, choices);
    const open = pressable(
      { class: "link choices-more", "aria-expanded": "false" },
      () => {
        rest.hidden = false;
        open.remove();
        rest.querySelector("input")?.focus();
      },
      say("More…"),
    );
    return [rest, open];
  }

  /**
   * @param {Offer} choice
   * @param {Decision} decision
   * @param {boolean} shut
   */
  #stepper(choice, decision, shut) {
    const input = h("input", {
      type: "number",
      min: "0",
      max: "1000000",
      step: "1",
      inputmode: "numeric",
      id: "policy-length",
      disabled: shut,
      "aria-label": say("How many exchanges"),
    });
    input.value = String(decision.settings.length.value);
    const applyLength = () => {
      if (input.value.trim() === "" && input.validity.valid) return;
      // Setting a length also chooses the policy that has one.
      const now = this.decision?.offers?.list.find((one) => one.key === choice.key)?.in_force;
      this.#chooseNumber(input, {
        ...(now ? {} : choice.changes),
        historyLength: input.value.trim(),
      });
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
      pressable({ disabled: shut, "aria-label": label }, () => step(by), by > 0 ? "+" : "−");
    return h(
      "span",
      { class: "stepper" },
      button(-1, say("One fewer")),
      input,
      button(1, say("One more")),
    );
  }

  /**
   * @param {Decision} decision
   * @param {boolean} shut
   */
  #budget(decision, shut) {
    const input = h("input", {
      type: "number",
      min: "1",
      max: "1000000",
      step: "1",
      inputmode: "numeric",
      id: "policy-tokens",
      disabled: shut,
      placeholder: say("no limit"),
      title: say("Without one: {limit} tokens, as many as the model takes.", {
        limit: formatNumber(decision.limit),
      }),
    });
    input.value = String(decision.settings.tokens?.value ?? "");
    input.addEventListener("input", () =>
      this.#chooseNumber(input, { historyTokens: input.value.trim() || null }),
    );
    return h(
      "div",
      { class: "budget" },
      h("label", { for: "policy-tokens" }, say("Token limit")),
      input,
    );
  }

  /**
   * A button that may be gone once it was pressed: the focus stays in the window.
   * @param {string} words
   * @param {() => void} act
   */
  #footButton(words, act) {
    return textButton(words, () => {
      this.wrong = "";
      this.popover.box.focus();
      act();
    });
  }

  /** Follows the decision, but leaves the field that is being typed in alone. */
  #refresh() {
    const { decision } = this;
    if (!decision?.offers || !this.notes) return;
    // What was picked stays marked until the server's word on it is here.
    const waits = this.picked && (this.choice.chosen || this.picked.before === decision);
    const picked = waits ? this.picked?.key : "";
    for (const choice of decision.offers.list) {
      const radio = /** @type {HTMLInputElement|null} */ (
        this.popover.box.querySelector(`input[value="${CSS.escape(choice.key)}"]`)
      );
      if (!radio) continue;
      radio.checked = picked ? choice.key === picked : choice.in_force;
      if (radio.checked && this.about) setText(this.about, choice.about);
    }
    for (const [id, value] of [
      ["policy-length", decision.settings.length.value],
      ["policy-tokens", decision.settings.tokens?.value],
    ]) {
      const input = /** @type {HTMLInputElement|null} */ (this.popover.box.querySelector(`#${id}`));
      if (input && input !== document.activeElement) input.value = String(value ?? "");
    }
    this.#drawNotes();
  }

  /** What is passed over and why, and the buttons that there is a use for. */
  #drawNotes() {
    const { decision } = this;
    if (!decision?.offers || !this.notes) return;
    const notes = [this.wrong, ...passedOver(decision), ...overruledByLink(decision)].filter(
      Boolean,
    );
    setChildren(
      this.notes,
      notes.map((why) => h("p", {}, icon("warn", 13), why)),
    );
    const { closed, kept } = decision.offers;
    const chosen = Object.keys(this.choice.chosen ?? kept).length > 0 || hasHistoryParameters();
    if (this.back) this.back.hidden = Boolean(closed) || !chosen;
    if (this.own) this.own.hidden = overruledByLink(decision).length === 0;
    if (this.foot)
      this.foot.hidden = [...this.foot.children].every(
        (one) => /** @type {HTMLElement} */ (one).hidden,
      );
  }
}

/**
 * What one source says of the settings that can be chosen in the page.
 * @param {Decision} decision
 * @param {string} source
 */
function valuesOf(decision, source) {
  const { conversation, ...own } = decision.settings;
  return Object.values(own)
    .flatMap(({ said }) => said)
    .filter((one) => one.source === source);
}

/**
 * Why parameters of the address, or what is kept with the conversation, don't apply. Where nothing can be chosen, the
 * reason why no link can is there already.
 * @param {Decision} decision
 */
function passedOver(decision) {
  const values = valuesOf(decision, "conversation");
  if (!decision.offers?.closed) values.unshift(...valuesOf(decision, "URL"));
  const lost = values.filter(({ outcome }) => LOSSES.includes(outcome));
  // One sentence for all that are passed over for one reason.
  return [...Map.groupBy(lost, ({ why }) => why)].map(
    ([why, all]) => `${all.map(({ name, raw }) => `${name}=${raw}`).join(", ")}: ${why}.`,
  );
}

/**
 * What is kept with the conversation while a link's parameters in the address come first.
 * @param {Decision} decision
 */
function overruledByLink(decision) {
  const linked = new Map(
    valuesOf(decision, "URL")
      .filter((one) => one.outcome === "won")
      .map(({ name, raw }) => [name, raw]),
  );
  /** @param {SourceValue} one */
  const isOverruled = ({ name, raw, outcome }) =>
    outcome === "overruled" && linked.has(name) && linked.get(name) !== raw;
  return valuesOf(decision, "conversation")
    .filter(isOverruled)
    .map((one) =>
      say("{value}: kept with this chat; the link in the page's address comes first.", {
        value: `${one.name}=${one.raw}`,
      }),
    );
}

/**
 * Why nothing can be chosen here; where the environment decides, the administrator's reason.
 * @param {Decision} decision
 * @param {string} closed
 */
function closedNote(decision, closed) {
  if (!decision.locked)
    return h("div", { class: "lock-note" }, icon("lock", 15), h("p", {}, `${capitalize(closed)}.`));
  const { conversation = {}, ...own } = decision.settings;
  const values = [...Object.values(own), ...Object.values(conversation)].flatMap(
    (setting) => setting.said,
  );
  const names = [
    ...new Set(
      values
        .filter((one) => one.source === "environment" && one.outcome === "won")
        .map((one) => one.name),
    ),
  ];
  return h(
    "div",
    { class: "lock-note" },
    icon("lock", 15),
    h(
      "div",
      {},
      h("p", {}, decision.lock_reason || say("The administrator decides this here.")),
      names.length > 0 &&
        h(
          "p",
          {},
          say("Set by"),
          " ",
          names.map((name, index) => [index ? ", " : "", h("code", {}, name)]).flat(),
        ),
    ),
  );
}
