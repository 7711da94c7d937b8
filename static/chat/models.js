/** Which model answers: its name in the chat's head, and the list of those that may be chosen. */

import { announce } from "./announce.js";
import { byId, h, put, say } from "./dom.js";
import { keepModel, readModel } from "./drafts.js";
import { get } from "./http.js";
import { icon } from "./icons.js";
import { facts, lockNote } from "./model-facts.js";
import { Popover } from "./popover.js";

/**
 * @typedef {import("./model-facts.js").Model} Model
 * @typedef {import("./model-facts.js").Group} Group
 * @typedef {import("./model-facts.js").Offer} Offer
 * @typedef {import("./model-facts.js").Choice} Choice
 */

// From so many on a list is easier to search than to read.
const MANY = 12;
const LOOKING = "Looking for models on this machine…";
const PAUSE = 1_500;

export class ModelPicker {
  /**
   * @param {import("./page.js").Page} page
   * @param {() => void} changed called after another model was chosen
   */
  constructor(page, changed) {
    this.page = page;
    this.changed = changed;
    this.conversation = "";
    /** @type {Choice|null} */
    this.choice = null;
    /** What models are called, as far as it is known here. @type {Map<string, Choice>} */
    this.known = new Map();
    /** @type {{agent: string, offer: Offer}|null} */
    this.found = null;
    byId("model-open").append(icon("down", 12));
    this.popover = new Popover(byId("model-open"), {
      label: "Which model answers", class: "models-pop", fill: (box) => this.#fill(box),
    });
  }

  /** What was chosen here and no message has gone to yet, as `provider:model`; null: nothing was. */
  get chosen() {
    return this.choice?.name ?? null;
  }

  enter(conversation) {
    this.popover.close({ focus: false });
    this.conversation = conversation;
    this.#hold(readModel(conversation));
  }

  /** @param {import("./state.js").State} state */
  update(state) {
    this.state = state;
    this.kept = state.conversation?.model ?? "";
    // The message went out: the conversation keeps it from now on.
    if (state.conversation && this.choice?.name === this.kept) this.#choose(null);
    const { provider } = state.agent ?? {};
    const named = this.choice ?? (this.kept ? this.known.get(this.kept) : null);
    const label = named?.label ?? provider?.label ?? "";
    say(byId("model"), label);
    const button = byId("model-open");
    button.hidden = !label;
    button.title = this.choice ? `${label} answers from the next message on.` : provider?.note || "Which model answers";
    button.setAttribute("aria-label", `${label}. Choose which model answers`);
    this.toolless = (named?.tools ?? provider?.tools) === false;
  }

  /** @param {Choice|null} choice */
  #hold(choice) {
    this.choice = choice;
    if (choice) this.known.set(choice.name, choice);
  }

  #choose(choice) {
    this.#hold(choice);
    keepModel(this.conversation, choice);
  }

  /** The administrator decides by now. */
  #unchoose() {
    this.#choose(null);
    this.changed();
  }

  /** @param {HTMLElement} box */
  #fill(box) {
    const agent = this.state?.agentSlug ?? "";
    const known = this.found?.agent === agent ? this.found.offer : null;
    this.body = h("div", {});
    this.note = h("p", { class: "pop-note", role: "status" }, LOOKING);
    put(box, h("h2", { class: "pop-title" }, "Which model answers"), this.body, this.note);
    if (known) this.#list(known);
    void this.#look(agent);
  }

  /** Asks at every opening: a server on this machine may have been started since. */
  async #look(agent) {
    const body = this.body;
    try {
      const offer = await get(`${this.page.urls.models}?${new URLSearchParams({ agent })}`);
      this.found = { agent, offer };
      if (this.body !== body || !this.popover.shown) return;
      this.#list(offer);
      say(this.note, offer.looking ? LOOKING : "");
      if (offer.looking) setTimeout(() => this.body === body && this.popover.shown && void this.#look(agent), PAUSE);
    } catch (error) {
      if (this.body === body) say(this.note, /** @type {Error} */ (error).message);
    }
  }

  /** @param {Offer} offer */
  #list(offer) {
    if (offer.locked && this.choice) this.#unchoose();
    const list = JSON.stringify([offer.locked, offer.own, offer.groups]);
    if (this.body?.dataset.list === list) return;
    const all = offer.groups.flatMap(({ models }) => models);
    for (const { name, label, tools } of all) this.known.set(name, { name, label, tools });
    const body = /** @type {HTMLElement} */ (this.body);
    const held = body.contains(document.activeElement);
    body.dataset.list = list;
    put(
      body,
      offer.locked && lockNote(offer.locked),
      all.length > MANY && this.#search(),
      h("fieldset", { class: "choices", disabled: Boolean(offer.locked) },
        h("legend", { class: "hidden" }, "Model"),
        offer.groups.map((group) => this.#group(group, offer))),
      h("p", { class: "pop-note models-foot" }, "It answers from your next message on. What was said stays."),
    );
    const inForce = /** @type {HTMLElement|null} */ (body.querySelector("input:checked:not(:disabled)"));
    if (held || document.activeElement === this.popover.box) inForce?.focus({ preventScroll: false });
  }

  #search() {
    const input = h("input", { type: "search", class: "models-find", placeholder: "Find a model", "aria-label": "Find a model", autocomplete: "off", spellcheck: "false" });
    input.addEventListener("input", () => {
      const wanted = input.value.trim().toLowerCase();
      for (const row of this.body?.querySelectorAll(".choice") ?? []) {
        /** @type {HTMLElement} */ (row).hidden = !(row.textContent ?? "").toLowerCase().includes(wanted);
      }
      for (const one of this.body?.querySelectorAll(".models-group") ?? []) {
        /** @type {HTMLElement} */ (one).hidden = !one.querySelector(".choice:not([hidden])");
      }
    });
    return input;
  }

  /** @param {Group} group @param {Offer} offer */
  #group({ title, note, models }, offer) {
    return h("section", { class: "models-group" },
      h("h3", {}, title),
      note && h("p", { class: "pop-note" }, note),
      models.map((model) => this.#row(model, offer)));
  }

  /** @param {Model} model @param {Offer} offer */
  #row(model, offer) {
    const { name, label, why_not: barred = "" } = model;
    const now = this.choice?.name ?? this.kept;
    const radio = h("input", { type: "radio", name: "model", value: name, disabled: Boolean(barred) });
    // The agent's own may also be named in full.
    radio.checked = name === now || (now === "" && name === offer.own);
    radio.addEventListener("change", () => this.#take(model, offer));
    // Arrow keys go through the list; a press means it.
    radio.addEventListener("click", ({ detail }) => {
      if (detail === 0) return;
      // What is taken out of the page in its click never changes.
      this.#take(model, offer);
      this.popover.close();
    });
    return h("div", { class: "choice" },
      h("label", {}, radio, h("span", {}, h("b", {}, label), h("small", {}, barred || facts(model)))));
  }

  /** @param {Model} model @param {Offer} offer */
  #take({ name, label, tools }, offer) {
    const said = name === offer.own ? "" : name;
    this.#choose(said === this.kept ? null : { name: said, label, tools });
    announce(`${label} answers from your next message on.`);
    this.changed();
  }
}
