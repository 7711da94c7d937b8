/** The picker of models: the name of the one that answers, and the choice of another. */

import { announce } from "../elements/announce.js";
import { byId, h, setChildren, setText, textButton } from "../elements/dom.js";
import { icon } from "../elements/icons.js";
import { Popover } from "../elements/popover.js";
import { toast } from "../elements/toast.js";
import { loadModel, storeModel } from "../net/drafts.js";
import { getJson } from "../net/http.js";
import { say } from "../words/say.js";
import { modelList } from "./model-list.js";

/**
 * @import { Model, ModelChoice, ModelOffer, Page } from "../types/page.js"
 * @import { State } from "../types/state.js"
 * @import { ChatTuning } from "./tuning.js"
 */

const LOOKING = say("Looking for models on this machine…");
const PAUSE = 1_500;
// So many models are named where a link asks for one that isn't there.
const NAMED = 5;

export class ModelPicker {
  /**
   * @param {Page} page
   * @param {() => void} changed called after another model was chosen, or the offer was loaded
   * @param {ChatTuning} tuning of the answers, which its window shows, too
   */
  constructor(page, changed, tuning) {
    this.page = page;
    this.changed = changed;
    this.tuning = tuning;
    this.conversation = "";
    this.agent = "";
    this.offerAsked = false;
    this.body = h("div", {});
    this.note = h("p", { class: "pop-note", role: "status" });
    // The model chosen for the conversation, as `provider:model`; "": the agent's own.
    this.conversationModel = "";
    /** @type {ModelChoice|null} */
    this.choice = null;
    /** @type {ModelOffer|null} what the agent can be given, once that was loaded */
    this.offer = null;
    this.demonstration = false;
    // The agent whose model is known.
    this.told = "";
    /** @type {typeof import("./better-model.js")|null} once its window was opened */
    this.better = null;
    byId("model-open").append(icon("down", 12));
    this.popover = new Popover(byId("model-open"), {
      label: say("Which model answers"),
      class: "models-pop",
      fill: (box) => this.#fill(box),
    });
  }

  /** The model that was chosen here and that no message was sent to yet, as `provider:model`; or null. */
  get chosen() {
    return this.choice?.name ?? null;
  }

  /** What is offered, as far as it is loaded. */
  get all() {
    return this.offer && !this.offer.locked
      ? this.offer.groups.flatMap(({ models }) => models)
      : [];
  }

  /** @param {string} conversation */
  enter(conversation) {
    this.popover.close({ focus: false });
    this.conversation = conversation;
    this.choice = loadModel(conversation);
  }

  /** @param {State} state */
  update(state) {
    if (state.agentSlug !== this.agent) {
      this.agent = state.agentSlug;
      this.offer = null;
      this.offerAsked = false;
    }
    this.conversationModel = state.conversation?.model ?? "";
    // The message was sent: from now on the conversation has the model.
    if (state.conversation && this.choice?.name === this.conversationModel) this.setChoice(null);
    if (this.conversationModel && !this.choice && !this.offer && !this.offerAsked)
      void this.loadOffer();
    const { provider } = state.agent ?? {};
    const label = this.answering()?.label ?? provider?.label ?? "";
    const small = Boolean(provider?.demonstration) && !this.answering();
    // Not for a choice made here, and not for another agent: the server has other models than before.
    if (this.demonstration && !small && label && this.told === state.agentSlug && !this.answering())
      this.#tellNew(label);
    this.told = provider ? state.agentSlug : "";
    this.demonstration = small;
    const button = byId("model-open");
    setText(byId("model"), label);
    button.hidden = !label;
    button.title = this.choice
      ? say("{label} answers from your next message.", { label })
      : provider?.note || say("Which model answers");
    button.setAttribute("aria-label", say("{label}. Choose which model answers", { label }));
  }

  /**
   * The model that answers where that isn't the agent's own. Before the offer is loaded only its name is known.
   * @returns {{label: string}|null}
   */
  answering() {
    if (this.choice) return this.choice.name ? this.choice : null;
    if (!this.conversationModel) return null;
    if (this.offer) return this.#offered(this.conversationModel);
    return { label: this.conversationModel.slice(this.conversationModel.indexOf(":") + 1) };
  }

  /**
   * @param {string} name
   * @returns {Model|null} null where it can't be chosen now
   */
  #offered(name) {
    return this.all.find((one) => one.name === name && !one.why_not) ?? null;
  }

  /** @param {ModelChoice|null} choice */
  setChoice(choice) {
    this.choice = choice;
    storeModel(this.conversation, choice);
  }

  /** @param {HTMLElement} box */
  #fill(box) {
    this.body = h("div", {});
    this.note = h("p", { class: "pop-note", role: "status" }, LOOKING);
    setChildren(
      box,
      h("h2", { class: "pop-title" }, say("Which model answers")),
      this.body,
      this.note,
      this.demonstration &&
        textButton(say("Use a better model"), () => (this.popover.close(), this.openBetter()), {
          class: "link models-better",
        }),
    );
    if (this.offer) this.#draw();
    void this.loadOffer();
    void import("./tuning-controls.js").then(({ showTuning }) => {
      if (this.note.isConnected) showTuning(this.tuning, this.note);
    });
  }

  /**
   * Chooses the model that a link names, for a chat that hasn't begun.
   * @param {string} wanted `provider:model`, or the model's name alone
   * @returns {Promise<string>} why it isn't chosen; "" where it is
   */
  async ask(wanted) {
    if (this.conversationModel) return "";
    const asked = say("Your link asked for the model “{model}”", { model: wanted });
    try {
      const offer = await this.#askForOffer();
      if (offer.locked) return `${asked}: ${offer.locked}`;
      const all = offer.groups.flatMap(({ models }) => models);
      const found = all.find(
        ({ name, label }) => name === wanted || label === wanted || name.endsWith(`:${wanted}`),
      );
      if (found && !found.why_not) {
        this.select(found);
        return "";
      }
      if (found) return `${asked}: ${found.why_not}`;
      const some = all
        .filter((one) => !one.why_not)
        .slice(0, NAMED)
        .map(({ name }) => name)
        .join(", ");
      return say("{asked}, which isn't offered here. There are: {some}.", { asked, some });
    } catch (error) {
      return `${asked}: ${/** @type {Error} */ (error).message}`;
    }
  }

  /**
   * A model of another server that could answer where this one fails; null where there is none.
   * @returns {Promise<Model|null>}
   */
  async other() {
    try {
      const { locked, groups, own } = this.offer ?? (await this.#askForOffer());
      if (locked) return null;
      const [failed] = (this.choice?.name || this.conversationModel || own).split(":");
      const all = groups.flatMap(({ models }) => models);
      return (
        all.find(({ name, why_not: barred }) => !barred && name.split(":")[0] !== failed) ?? null
      );
    } catch {
      return null;
    }
  }

  /** Explains the ways to a better model. */
  async openBetter() {
    this.better = await import("./better-model.js");
    this.better.openBetterModel({
      load: () => this.#askForOffer(),
      select: (model) => this.select(model),
    });
  }

  /** @param {string} label of the model that the server has now instead of the small one */
  #tellNew(label) {
    this.offer = null;
    this.offerAsked = false;
    if (!this.better?.sayBetterModelAnswers(label))
      toast(say("{model} answers now.", { model: label }));
  }

  /** @returns {Promise<ModelOffer>} */
  async #askForOffer() {
    const { agent } = this;
    const offer = await getJson(`${this.page.urls.models}?${new URLSearchParams({ agent })}`);
    if (agent === this.agent) this.offer = offer;
    return offer;
  }

  /** Loads the offer at every opening: a server on this machine may have been started since. */
  async loadOffer() {
    const { agent, body } = this;
    this.offerAsked = true;
    try {
      const offer = await this.#askForOffer();
      if (agent !== this.agent) return;
      // Where the administrator decides now, the choice no longer counts.
      if (offer.locked && this.choice) this.setChoice(null);
      this.changed();
      if (!this.popover.shown || body !== this.body) return;
      this.#draw();
      setText(this.note, offer.looking ? LOOKING : "");
      if (offer.looking)
        setTimeout(() => this.popover.shown && body === this.body && void this.loadOffer(), PAUSE);
    } catch (error) {
      if (this.popover.shown && body === this.body)
        setText(this.note, /** @type {Error} */ (error).message);
    }
  }

  #draw() {
    const { body, offer } = this;
    if (!body || !offer) return;
    const lost =
      this.conversationModel && !this.choice && !this.#offered(this.conversationModel)
        ? say(
            "{conversationModel} was chosen here but is unavailable now. The agent's own model answers.",
            { conversationModel: this.conversationModel },
          )
        : "";
    const drawn = JSON.stringify([lost, offer.locked, offer.own, offer.groups]);
    if (body.dataset.drawn === drawn) return;
    body.dataset.drawn = drawn;
    const held =
      body.contains(document.activeElement) || document.activeElement === this.popover.box;
    setChildren(
      body,
      modelList(offer, {
        now: (this.choice ? this.choice.name : lost ? "" : this.conversationModel) || offer.own,
        lost: offer.locked ? "" : lost,
        take: (model) => this.select(model),
        done: () => this.popover.close(),
      }),
    );
    if (held)
      /** @type {HTMLElement|null} */ (body.querySelector("input:checked:not(:disabled)"))?.focus();
  }

  /** @param {Model} model */
  select({ name, label }) {
    const chosen = name === this.offer?.own ? "" : name;
    this.setChoice(chosen === this.conversationModel ? null : { name: chosen, label });
    announce(say("{label} answers from your next message.", { label }));
    this.changed();
  }
}
