/** Which model answers: its name in the chat's head, and what was chosen. */

import { announce } from "../elements/announce.js";
import { byId, h, put, say } from "../elements/dom.js";
import { keepModel, readModel } from "../net/drafts.js";
import { get } from "../net/http.js";
import { icon } from "../elements/icons.js";
import { modelList } from "./model-list.js";
import { Popover } from "../elements/popover.js";

/**
 * @typedef {import("../state/model-facts.js").Model} Model
 * @typedef {import("../state/model-facts.js").Offer} Offer
 * @typedef {import("../state/model-facts.js").Choice} Choice
 */

const LOOKING = "Looking for models on this machine…";
const PAUSE = 1_500;

export class ModelPicker {
  /**
   * @param {import("../net/page-data.js").Page} page
   * @param {() => void} changed called after another model was chosen, or was found out to answer
   */
  constructor(page, changed) {
    this.page = page;
    this.changed = changed;
    this.conversation = "";
    this.agent = "";
    // What the conversation keeps, as `provider:model`; "": the agent's own.
    this.kept = "";
    /** @type {Choice|null} */
    this.choice = null;
    /** What is offered for the agent, once that was asked. @type {Offer|null} */
    this.offer = null;
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
    this.choice = readModel(conversation);
  }

  /** @param {import("../state/state.js").State} state */
  update(state) {
    if (state.agentSlug !== this.agent) Object.assign(this, { agent: state.agentSlug, offer: null, asked: false });
    this.kept = state.conversation?.model ?? "";
    // The message went out: the conversation keeps it from now on.
    if (state.conversation && this.choice?.name === this.kept) this.#choose(null);
    if (this.kept && !this.choice && !this.offer && !this.asked) void this.#look();
    const { provider } = state.agent ?? {};
    const label = this.#named()?.label ?? provider?.label ?? "";
    const button = byId("model-open");
    say(byId("model"), label);
    button.hidden = !label;
    button.title = this.choice ? `${label} answers from your next message on.` : provider?.note || "Which model answers";
    button.setAttribute("aria-label", `${label}. Choose which model answers`);
  }

  /**
   * Who answers where that isn't the agent's own. Until it is known what is offered, a name is all there is.
   * @returns {{label: string}|null}
   */
  #named() {
    if (this.choice) return this.choice.name ? this.choice : null;
    if (!this.kept) return null;
    if (this.offer) return this.#offered(this.kept);
    return { label: this.kept.slice(this.kept.indexOf(":") + 1) };
  }

  /** @returns {Model|null} as it may be chosen now */
  #offered(name) {
    const all = this.offer?.locked ? [] : this.offer?.groups.flatMap(({ models }) => models) ?? [];
    return all.find((one) => one.name === name && !one.why_not) ?? null;
  }

  /** @param {Choice|null} choice */
  #choose(choice) {
    this.choice = choice;
    keepModel(this.conversation, choice);
  }

  /** @param {HTMLElement} box */
  #fill(box) {
    this.body = h("div", {});
    this.note = h("p", { class: "pop-note", role: "status" }, LOOKING);
    put(box, h("h2", { class: "pop-title" }, "Which model answers"), this.body, this.note);
    if (this.offer) this.#draw();
    void this.#look();
  }

  /** Asks at every opening: a server on this machine may have been started since. */
  async #look() {
    const { agent, body } = this;
    this.asked = true;
    try {
      const offer = await get(`${this.page.urls.models}?${new URLSearchParams({ agent })}`);
      if (agent !== this.agent) return;
      this.offer = offer;
      // Where the administrator decides by now, what was chosen no longer counts.
      if (offer.locked && this.choice) this.#choose(null);
      this.changed();
      if (!this.popover.shown || body !== this.body) return;
      this.#draw();
      say(this.note, offer.looking ? LOOKING : "");
      if (offer.looking) setTimeout(() => this.popover.shown && body === this.body && void this.#look(), PAUSE);
    } catch (error) {
      if (this.popover.shown && body === this.body) say(this.note, /** @type {Error} */ (error).message);
    }
  }

  #draw() {
    const { body, offer } = this;
    if (!body || !offer) return;
    const lost = this.kept && !this.choice && !this.#offered(this.kept)
      ? `${this.kept} was chosen here and can't be had now. The agent's own answers.`
      : "";
    const drawn = JSON.stringify([lost, offer.locked, offer.own, offer.groups]);
    if (body.dataset.drawn === drawn) return;
    body.dataset.drawn = drawn;
    const held = body.contains(document.activeElement) || document.activeElement === this.popover.box;
    put(body, modelList(offer, {
      now: (this.choice ? this.choice.name : lost ? "" : this.kept) || offer.own,
      lost: offer.locked ? "" : lost,
      take: (model) => this.#take(model),
      done: () => this.popover.close(),
    }));
    if (held) /** @type {HTMLElement|null} */ (body.querySelector("input:checked:not(:disabled)"))?.focus();
  }

  /** @param {Model} model */
  #take({ name, label }) {
    const said = name === this.offer?.own ? "" : name;
    this.#choose(said === this.kept ? null : { name: said, label });
    announce(`${label} answers from your next message on.`);
    this.changed();
  }
}
