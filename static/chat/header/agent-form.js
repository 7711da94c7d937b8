/** The form of an agent that a person makes: beside the chat where there is room, so that it can be tried there. */

import { COLOURS } from "../elements/agent-mark.js";
import { announce } from "../elements/announce.js";
import { askToConfirm } from "../elements/confirm.js";
import { byId, h, setChildren, setText, textButton } from "../elements/dom.js";
import { showError, toast } from "../elements/toast.js";
import { getJson, sendChange } from "../net/http.js";
import { capitalize, formatTime } from "../state/format.js";
import { say } from "../words/say.js";
import { drawMemory } from "./agent-memory.js";
import { fieldsOf, templateOf } from "./agent-template.js";

/**
 * @import { AgentFormData, ModelOffer, Page } from "../types/page.js"
 * @import { Agent, ChoiceChanges } from "../types/wire.js"
 * @import { Template } from "./agent-template.js"
 */

// The chat stays beside the form from this width on.
const BESIDE = "(min-width: 1100px)";
const TEXTS = ["name", "mark", "description", "personality", "chatPrompts", "initialMessages"];

/**
 * @param {string} name
 * @returns {HTMLInputElement}
 */
const field = (name) => /** @type {HTMLInputElement} */ (byId(`field-${name}`));

export class AgentForm {
  /**
   * @param {Page} page
   * @param {{changed: (agents: Agent[]) => void, open: (slug: string) => void, closed: () => void}} actions `changed`
   *   hears which agents there are now
   */
  constructor(page, actions) {
    this.page = page;
    this.actions = actions;
    this.dialog = byId("agent-form", HTMLDialogElement);
    this.form = /** @type {HTMLFormElement} */ (this.dialog.querySelector("form"));
    this.slug = "";
    /** @type {Template} */
    this.template = {};
    /** @type {ChoiceChanges} */
    this.memory = {};
    /** @type {string[]} */
    this.tools = [];
    this.saved = "";
    this.dialog.addEventListener("keydown", (event) => {
      if (event.key !== "Escape") return;
      event.preventDefault();
      event.stopPropagation();
      void this.close();
    });
    this.form.addEventListener("submit", (event) => (event.preventDefault(), void this.#save()));
    field("mark").addEventListener("input", () => this.#mark(field("mark").value));
    this.form.addEventListener("change", ({ target }) => {
      const { name, value } = /** @type {HTMLInputElement} */ (target);
      if (name === "colour") this.#mark(value);
    });
    const file = byId("agent-file", HTMLInputElement);
    file.addEventListener("change", () => void this.#read(file));
    const acts = {
      close: () => this.close(),
      try: () => this.#try(),
      download: () => this.#download(),
      read: () => file.click(),
      delete: () => this.#remove(),
    };
    for (const [name, act] of Object.entries(acts))
      byId(`agent-${name}`).addEventListener("click", () => void act());
  }

  /** @param {string} [slug] of the agent to change; "": a new one */
  async open(slug = "") {
    if (this.dialog.open && !(await this.close())) return;
    try {
      await this.#load(slug);
    } catch (error) {
      return showError(/** @type {Error} */ (error));
    }
    const beside = matchMedia(BESIDE).matches;
    document.body.classList.toggle("agent-beside", beside);
    if (beside) this.dialog.show();
    else this.dialog.showModal();
    field("name").focus();
  }

  /** @returns {Promise<boolean>} false where somebody goes on writing */
  async close() {
    const discard = {
      title: say("Discard your changes?"),
      text: say("What you changed here isn't saved."),
      yes: say("Discard"),
    };
    if (this.#written() !== this.saved && !(await askToConfirm(discard))) return false;
    this.dialog.close();
    document.body.classList.remove("agent-beside");
    this.actions.closed();
    return true;
  }

  /** @param {string} slug */
  async #load(slug) {
    const { urls, agents } = this.page;
    const usual = agents.find(({ own, broken }) => !own && !broken)?.slug ?? "";
    /** @type {[AgentFormData, ModelOffer|null]} */
    const [form, offer] = await Promise.all([
      getJson(`${urls.own_agent_form}?${new URLSearchParams({ agent: slug })}`),
      getJson(`${urls.models}?${new URLSearchParams({ agent: usual })}`).catch(() => null),
    ]);
    this.slug = slug;
    this.tools = form.tools;
    this.memory = drawMemory(form.memory);
    setText(byId("agent-form-title"), slug ? say("Edit agent") : say("New agent"));
    byId("agent-delete").hidden = !slug;
    byId("agent-share").hidden = !form.may_share;
    byId("agent-tools").hidden = !form.tools.length;
    this.form.shared.checked = form.shared;
    this.#drawModels(offer, fieldsOf(form.template).model);
    this.#drawVersions(form.versions);
    this.#fill(form.template);
    this.saved = this.#written();
  }

  /**
   * @param {Template} template
   * @param {string[]} [unused] what of a file has no effect
   */
  #fill(template, unused = []) {
    this.template = template;
    /** @type {Record<string, any>} */
    const fields = fieldsOf(template);
    for (const name of TEXTS) field(name).value = fields[name];
    this.#mark(fields.mark);
    const select = byId("field-model", HTMLSelectElement);
    select.value = fields.model;
    if (select.value !== fields.model) {
      select.append(h("option", { value: fields.model }, fields.model));
      select.value = fields.model;
    }
    const tools = this.tools.map((value) => {
      const box = h("input", { type: "checkbox", name: "tool", value });
      box.checked = fields.tools.includes(value);
      return h("label", { class: "agent-check" }, box, h("span", {}, value));
    });
    setChildren(/** @type {Element} */ (byId("agent-tools").lastElementChild), tools);
    const list = byId("agent-unused");
    list.hidden = !unused.length;
    setChildren(
      /** @type {Element} */ (list.querySelector("ul")),
      unused.map((one) => h("li", {}, one)),
    );
    this.#tell("", "");
  }

  /** @param {string} mark an emoji or a colour: one of them at a time */
  #mark(mark) {
    const drawn = COLOURS.includes(mark);
    const colour = this.form.querySelector(`[name="colour"][value="${drawn ? mark : ""}"]`);
    /** @type {HTMLInputElement} */ (colour).checked = true;
    field("mark").value = drawn ? "" : mark;
  }

  /**
   * @param {ModelOffer|null} offer
   * @param {string} now
   */
  #drawModels(offer, now) {
    const select = byId("field-model", HTMLSelectElement);
    const groups = (offer?.groups ?? []).map(({ title, models }) => {
      const options = models.map(({ name, label, why_not: barred }) =>
        h("option", { value: name, disabled: Boolean(barred) && name !== now }, label),
      );
      return h("optgroup", { label: title }, options);
    });
    setChildren(select, h("option", { value: "" }, say("As usual here")), groups);
    select.disabled = Boolean(offer?.locked);
    setText(byId("agent-model-note"), offer?.locked ?? "");
  }

  /** @param {AgentFormData["versions"]} versions the newest first */
  #drawVersions(versions) {
    const part = byId("agent-versions");
    part.hidden = versions.length < 2;
    const rows = versions.map(({ number, created }, index) => {
      const words = say("Version {number}, {when}", { number, when: formatTime(created) });
      const act = index && textButton(say("Use this again"), () => this.#use(number));
      return h("li", {}, h("span", {}, words), act || h("span", { class: "quiet" }, say("in use")));
    });
    setChildren(/** @type {Element} */ (part.querySelector("ul")), rows);
  }

  // ---- what is written ------------------------------------------------------------------------
  #document() {
    const given = new FormData(this.form);
    const others = fieldsOf(this.template).tools.filter((one) => !this.tools.includes(one));
    /** @type {Record<string, any>} */
    const fields = { tools: [...others, ...given.getAll("tool")] };
    for (const name of TEXTS) fields[name] = String(given.get(name) ?? "").trim();
    fields.mark ||= given.get("colour");
    fields.model = byId("field-model", HTMLSelectElement).value;
    return templateOf(this.template, /** @type {any} */ (fields), this.memory);
  }

  #written() {
    return JSON.stringify([this.#document(), this.form.shared.checked]);
  }

  /**
   * Says at its field what is wrong.
   * @param {string} place in the template; "": in no field
   * @param {string} message "": nothing any more
   */
  #tell(place, message) {
    for (const one of this.dialog.querySelectorAll(".agent-wrong")) setText(one, "");
    for (const name of TEXTS) field(name).removeAttribute("aria-invalid");
    if (!message) return;
    const named = place.split(".").find((one) => TEXTS.includes(one));
    if (!named) return setText(byId("wrong"), [place, message].filter(Boolean).join(": "));
    setText(byId(`wrong-${named}`), capitalize(message));
    field(named).closest("details")?.setAttribute("open", "");
    field(named).setAttribute("aria-invalid", "true");
    field(named).focus();
  }

  // ---- what is done ---------------------------------------------------------------------------
  async #save() {
    const was = this.slug;
    if (!(await this.#store())) return;
    await this.close();
    if (was) toast(say("Saved."));
    else this.actions.open(this.slug);
  }

  async #try() {
    if (!(await this.#store())) return;
    if (!document.body.classList.contains("agent-beside")) await this.close();
    this.actions.open(this.slug);
  }

  /** Stores a version; false where something is wrong, which the form then says. */
  #store() {
    const body = { template: this.#document(), shared: this.form.shared.checked };
    return this.slug ? this.#send("PUT", `/${this.slug}`, body) : this.#send("POST", "", body);
  }

  /**
   * @param {"POST"|"PUT"} method
   * @param {string} path
   * @param {object} body
   * @returns {Promise<boolean>}
   */
  async #send(method, path, body) {
    this.#tell("", "");
    try {
      const found = await sendChange(method, this.page.urls.own_agents + path, body);
      this.actions.changed(found.agents);
      await this.#load(found.slug);
      return true;
    } catch (error) {
      const { message, place = "" } = /** @type {Error & {place?: string}} */ (error);
      this.#tell(place, message);
      return false;
    }
  }

  /** @param {number} number */
  async #use(number) {
    if (!(await this.#send("POST", `/${this.slug}/version`, { number }))) return;
    announce(say("Version {number} is used again.", { number }));
    field("name").focus();
  }

  async #remove() {
    const path = `${this.page.urls.own_agents}/${this.slug}`;
    /** @param {{agents: Agent[]}} found */
    const told = ({ agents }) => this.actions.changed(agents);
    try {
      told(await sendChange("DELETE", path));
    } catch (error) {
      return showError(/** @type {Error} */ (error));
    }
    this.saved = this.#written();
    await this.close();
    const undo = () => sendChange("POST", `${path}/restore`).then(told, showError);
    const words = say("The agent is deleted. Its chats stay.");
    toast(words, { label: say("Undo"), act: undo, seconds: 20 });
  }

  #download() {
    const words = `${JSON.stringify(this.#document(), null, 2)}\n`;
    const href = URL.createObjectURL(new Blob([words], { type: "application/json" }));
    h("a", { href, download: byId("agent-download").dataset.file }).click();
    setTimeout(() => URL.revokeObjectURL(href), 10_000);
  }

  /** @param {HTMLInputElement} file */
  async #read(file) {
    try {
      const template = JSON.parse((await file.files?.[0]?.text()) ?? "");
      const read = await sendChange("POST", this.page.urls.own_agent_check, { template });
      this.#fill(read.template, read.unused);
      field("name").focus();
    } catch (error) {
      const { message, place = "" } = /** @type {Error & {place?: string}} */ (error);
      const is = error instanceof SyntaxError;
      this.#tell("", is ? say("This file is no JSON.") : `${place} ${message}`.trim());
    }
    file.value = "";
  }
}
