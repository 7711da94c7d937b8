/** The panel's picture of what the chat's answers cost: a bar for each, which leads to its receipt. */

import { h } from "../elements/dom.js";
import { walk } from "../elements/menu-keys.js";
import { getJson } from "../net/http.js";
import { formatDollars, formatNumber } from "../state/format.js";
import { say, sayCount } from "../words/say.js";
import { term } from "./terms.js";

/**
 * @import { Section } from "./panel.js"
 * @import { State } from "../types/state.js"
 * @import { ChatCosts } from "../types/wire.js"
 */

// In the order of the parts: the tone, as in the section above, the words, and what they mean.
const PARTS = [
  [
    "fate-stayed",
    say("read from the cache"),
    say("The provider still had this part of the prompt and charges less for it."),
  ],
  [
    "fate-anew",
    say("read anew"),
    say("The provider's cache didn't have this part of the prompt: it is paid in full."),
  ],
  ["fate-came", say("the answer"), say("What the model wrote, with what it thought.")],
];
const MISSED = [
  "cost-missed",
  say("the cache missed much"),
  say("More of the prompt was paid in full than had changed. The answer's own view says why."),
];
/** @param {number[]} parts */
const sum = (parts) => parts.reduce((all, one) => all + one, 0);

export class CostsSection {
  /**
   * @param {string} path of all conversations
   * @param {{showTurn: (turn: string) => void, redraw: () => void}} actions
   */
  constructor(path, actions) {
    this.path = path;
    this.actions = actions;
    /** @type {{id: string, messages: State["messages"], costs: ChatCosts|null}|null} */
    this.about = null;
  }

  /**
   * @param {State} state
   * @param {string} shown the turn whose receipt the panel shows
   * @returns {Section|null}
   */
  section({ conversation, conversationId: id, deleted, messages, turn }, shown) {
    if (!conversation || deleted) return null;
    const known = this.about?.id === id ? this.about : null;
    if (!known || (!turn && known.messages !== messages)) {
      this.about = { id, messages, costs: known?.costs ?? null };
      void this.#load(this.about);
    }
    const costs = known?.costs;
    return costs?.count ? { data: [costs, shown], draw: () => this.#draw(costs, shown) } : null;
  }

  /** @param {NonNullable<CostsSection["about"]>} about */
  async #load(about) {
    const found = await getJson(`${this.path}/${about.id}/costs`).catch(() => null);
    about.costs = found ?? about.costs; // what was drawn before stays
    this.actions.redraw();
  }

  /**
   * @param {ChatCosts} costs
   * @param {string} shown
   */
  #draw({ answers, count, total, dollars }, shown) {
    const highest = Math.max(...answers.map(({ parts }) => sum(parts))) || 1;
    const stop = answers.find(({ turn }) => turn === shown) ?? answers.at(-1);
    /** @param {number} value */
    const format = (value) =>
      dollars ? formatDollars(value) : sayCount("{count} token", "{count} tokens", value);
    const bars = answers.map((one) => {
      const { turn, seq, parts, cached: share, missed } = one;
      const values = { seq, cost: format(sum(parts)), share };
      const title = missed
        ? say("Message {seq}: {cost}, {share}% from the cache; much was read anew", values)
        : say("Message {seq}: {cost}, {share}% from the cache", values);
      const pieces = parts.map((part, at) => {
        const piece = h("i", { class: PARTS[at][0] });
        piece.style.height = `${(100 * part) / highest}%`;
        return piece;
      });
      const more = { title, "aria-label": title, "aria-current": turn === shown && "true" };
      const tabindex = one === stop ? "0" : "-1";
      const on = { click: () => this.actions.showTurn(turn) };
      const at = { type: "button", tabindex, "data-key": `cost-${turn}` };
      return h("li", {}, h("button", { ...more, ...at, on }, pieces, missed && h("b", {})));
    });
    const list = h("ol", { class: "costs", "aria-label": say("Answers") }, bars);
    list.addEventListener("keydown", (event) =>
      walk(event, [...list.querySelectorAll("button")], { ArrowLeft: -1, ArrowRight: 1 }),
    );
    const cost = format(total);
    const numbers = { shown: formatNumber(answers.length), count: formatNumber(count) };
    const lost = answers.some(({ missed }) => missed);
    return [
      h(
        "h3",
        {},
        dollars ? say("The answers: about {cost}", { cost }) : say("The answers: {cost}", { cost }),
        !dollars && h("small", {}, say("no price is known")),
      ),
      list,
      h(
        "ul",
        { class: "key" },
        [...PARTS, ...(lost ? [MISSED] : [])].map(([tone, words, meaning]) =>
          h("li", {}, h("i", { class: tone }), term(`costs-${tone}`, words, meaning)),
        ),
      ),
      count > answers.length &&
        h("p", { class: "quiet" }, say("{shown} of {count} answers", numbers)),
    ];
  }
}
