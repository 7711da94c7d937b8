/** The picker of agents, broken agents and their reasons included. */

import { cardLines } from "../elements/agent-card.js";
import { byId, h, inThisPage, setChildren, setText } from "../elements/dom.js";
import { icon } from "../elements/icons.js";
import { Popover } from "../elements/popover.js";
import { chatAddress } from "../net/address.js";
import { say } from "../words/say.js";

/**
 * @import { Page } from "../types/page.js"
 * @import { State } from "../types/state.js"
 * @import { Agent } from "../types/wire.js"
 */

export class AgentPicker {
  /**
   * @param {Page} page
   * @param {(slug: string) => void} choose
   */
  constructor(page, choose) {
    this.page = page;
    this.choose = choose;
    this.current = "";
    byId("agent-open").append(icon("down", 13));
    this.popover = new Popover(byId("agent-open"), {
      label: say("Agents"),
      class: "agents-pop",
      fill: (box) => this.#fill(box),
    });
  }

  /** @param {State} state */
  update(state) {
    this.current = state.agentSlug;
    setText(byId("agent-name"), state.agent?.name ?? state.agentSlug);
  }

  /** @param {HTMLElement} box */
  #fill(box) {
    const working = this.page.agents.filter((agent) => !agent.broken);
    const broken = this.page.agents.filter((agent) => agent.broken);
    const notes = new Set(working.map((agent) => agent.provider?.note ?? ""));
    // A note that all of them share is shown once, below.
    const common = notes.size === 1 && working.length > 1 ? [...notes][0] : "";
    setChildren(
      box,
      h("h2", { class: "pop-title" }, say("Start a new chat with")),
      h(
        "ul",
        { class: "agents" },
        working.map((agent) => h("li", {}, this.#link(agent, !common))),
      ),
      broken.length > 0 && h("h2", { class: "pop-title" }, say("Unavailable")),
      broken.length > 0 && h("ul", { class: "agents" }, broken.map(brokenAgent)),
      common && h("p", { class: "pop-note agents-note" }, common),
    );
  }

  /**
   * @param {Agent} agent
   * @param {boolean} noted whether its own provider's note is shown
   */
  #link(agent, noted) {
    const current = agent.slug === this.current;
    const choose = () => {
      this.popover.close({ focus: false });
      this.choose(agent.slug);
    };
    return h(
      "a",
      {
        href: chatAddress(this.page, { agent: agent.slug }),
        class: "agent-link",
        title: agent.version ? say("Version {version}", { version: agent.version }) : null,
        "aria-current": current ? "true" : null,
        "data-first": current,
        on: { click: inThisPage(choose) },
      },
      h("span", { class: "agent-name" }, agent.name, current && icon("check", 14)),
      agent.description && h("span", { class: "agent-about" }, agent.description),
      (agent.tags ?? []).length > 0 &&
        h(
          "span",
          { class: "tags" },
          agent.tags.map((tag) => h("span", {}, tag)),
        ),
      noted && agent.provider?.note && h("span", { class: "agent-note" }, agent.provider.note),
      cardLines(agent, agent.provider?.tools === false),
    );
  }
}

/** @param {Agent} agent */
function brokenAgent({ name, slug, broken }) {
  return h(
    "li",
    { class: "agent-broken" },
    h("span", { class: "agent-name" }, icon("warn", 14), name || slug),
    h(
      "span",
      { class: "agent-about" },
      broken?.file && h("code", {}, broken.file),
      broken?.key && [", ", h("code", {}, broken.key)],
      `${broken?.file ? ": " : ""}${broken?.reason}`,
    ),
  );
}
