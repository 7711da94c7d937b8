/** The picker of agents, broken agents and their reasons included, and the way to make one. */

import { cardTitle, lackSentences } from "../elements/agent-card.js";
import { agentMark } from "../elements/agent-mark.js";
import { byId, h, inThisPage, pressable, setChildren } from "../elements/dom.js";
import { icon } from "../elements/icons.js";
import { Popover } from "../elements/popover.js";
import { chatAddress } from "../net/address.js";
import { say } from "../words/say.js";

/**
 * @import { Page } from "../types/page.js"
 * @import { State } from "../types/state.js"
 * @import { Agent } from "../types/wire.js"
 */

// More agents than these are easier to search than to read.
const MANY = 8;

export class AgentPicker {
  /**
   * @param {Page} page
   * @param {{choose: (slug: string) => void, edit: (slug?: string) => void}} actions `edit` opens the form, of a new
   *   agent without a slug
   */
  constructor(page, actions) {
    this.page = page;
    this.actions = actions;
    this.current = "";
    byId("agent-open").append(icon("down", 13));
    this.popover = new Popover(byId("agent-open"), {
      label: say("Agents"),
      class: "agents-pop",
      fill: (box) => this.#fill(box),
    });
  }

  /** @param {State} state */
  update({ agentSlug: slug, agent }) {
    this.current = slug;
    // The list is newer where the agent was changed here.
    const { name, mark } = this.page.agents.find((one) => one.slug === slug) ?? agent ?? {};
    const words = `${mark ?? ""} ${name ?? slug}`;
    const element = byId("agent-name");
    if (element.dataset.shown === words) return;
    element.dataset.shown = words;
    setChildren(element, agentMark(mark), name ?? slug);
  }

  /** Shows agents that were changed here. */
  refresh() {
    if (this.popover.shown) this.#fill(this.popover.box);
  }

  /** @param {HTMLElement} box */
  #fill(box) {
    const working = this.page.agents.filter((agent) => !agent.broken);
    const broken = this.page.agents.filter((agent) => agent.broken);
    const list = (/** @type {Agent[]} */ some) =>
      h(
        "ul",
        { class: "agents" },
        some.map((agent) => this.#row(agent)),
      );
    const mine = working.filter(({ own }) => own?.mine);
    setChildren(
      box,
      h("h2", { class: "pop-title" }, say("Start a new chat with")),
      working.length > MANY && searchField(box),
      list(working.filter(({ own }) => !own?.mine)),
      mine.length > 0 && [h("h2", { class: "pop-title" }, say("Yours")), list(mine)],
      pressable({ class: "agent-new" }, () => this.#edit(), icon("plus", 14), say("New agent")),
      broken.length > 0 && [
        h("h2", { class: "pop-title" }, say("Unavailable")),
        h(
          "ul",
          { class: "agents" },
          broken.map((agent) => this.#broken(agent)),
        ),
      ],
    );
  }

  /** @param {string} [slug] */
  #edit(slug) {
    this.popover.close({ focus: false });
    this.actions.edit(slug);
  }

  /** @param {Agent} agent */
  #editButton({ slug, name }) {
    const label = say("Edit {name}", { name });
    const props = { class: "icon agent-edit", "aria-label": label, title: label };
    return pressable(props, () => this.#edit(slug), icon("pencil", 15));
  }

  /** @param {Agent} agent */
  #row(agent) {
    return h("li", {}, this.#link(agent), agent.own?.mine && this.#editButton(agent));
  }

  /** @param {Agent} agent */
  #link(agent) {
    const current = agent.slug === this.current;
    const choose = () => {
      this.popover.close({ focus: false });
      this.actions.choose(agent.slug);
    };
    return h(
      "a",
      {
        href: chatAddress(this.page, { agent: agent.slug }),
        class: "agent-link",
        title: cardTitle(agent),
        "aria-current": current ? "true" : null,
        "data-first": current,
        on: { click: inThisPage(choose) },
      },
      h(
        "span",
        { class: "agent-name" },
        agentMark(agent.mark),
        agent.name,
        current && icon("check", 14),
        lackSentences(agent).length > 0 && icon("warn", 14),
      ),
      agent.description && h("span", { class: "agent-about cut" }, agent.description),
    );
  }

  /** @param {Agent} agent */
  #broken(agent) {
    const { name, slug, broken, own } = agent;
    return h(
      "li",
      { class: "agent-broken" },
      h("span", { class: "agent-name" }, icon("warn", 14), name || slug),
      h(
        "span",
        { class: "agent-about" },
        broken?.file && h("code", {}, broken.file),
        broken?.key && [broken.file && ", ", h("code", {}, broken.key)],
        `${broken?.file || broken?.key ? ": " : ""}${broken?.reason}`,
      ),
      own?.mine && this.#editButton(agent),
    );
  }
}

/** @param {HTMLElement} box whose list it searches */
function searchField(box) {
  const input = h("input", {
    type: "search",
    class: "models-find",
    placeholder: say("Find an agent"),
    "aria-label": say("Find an agent"),
    autocomplete: "off",
  });
  input.addEventListener("input", () => {
    const wanted = input.value.trim().toLowerCase();
    for (const one of box.querySelectorAll("li"))
      one.hidden = !`${one.textContent} ${one.querySelector("a")?.title}`
        .toLowerCase()
        .includes(wanted);
  });
  return input;
}
