/** One line under the header on what the link asked for and didn't get. What the link got needs no words. */

import { byId, h, pressable, setChildren } from "../elements/dom.js";
import { icon } from "../elements/icons.js";
import { shorten } from "../state/format.js";
import { say } from "../words/say.js";

/**
 * @import { Asked } from "../net/link.js"
 * @import { State } from "../types/state.js"
 * @import { Decision } from "../types/wire.js"
 */

// A link may name anything; so much of a name is repeated.
const LONGEST = 64;
const MOST = 5;
const REFUSED = ["bad", "not allowed", "locked"];

export class LinkLine {
  /** @param {Asked} asked */
  constructor({ agent, unknown }) {
    this.line = byId("link-line");
    this.words = h("div", {});
    this.shown = "";
    /** @type {string[]} what no decision knows of: the agent and the model */
    this.others = agent
      ? [
          say("Your link asked for the agent “{agent}”, which isn't here.", {
            agent: shorten(agent, LONGEST),
          }),
        ]
      : [];
    if (unknown.length) {
      const names = unknown
        .slice(0, MOST)
        .map((name) => `“${shorten(name, LONGEST)}”`)
        .join(", ");
      this.others.push(
        say("Your link asked for {names}. That isn't known here and changes nothing.", { names }),
      );
    }
    const close = pressable(
      { class: "icon", "aria-label": say("Dismiss") },
      () => (this.line.hidden = true),
      icon("close", 14),
    );
    setChildren(this.line, icon("warn", 14), this.words, close);
  }

  /** @param {string} sentence */
  add(sentence) {
    this.others.push(sentence);
  }

  /** @param {State} state */
  update({ decision }) {
    const sentences = [...this.others, ...(decision ? refusedSettings(decision) : [])];
    const shown = sentences.join("\n");
    if (shown === this.shown) return;
    this.shown = shown;
    this.line.hidden = !shown;
    setChildren(
      this.words,
      sentences.map((one) => h("p", {}, one)),
    );
  }
}

/**
 * The history parameters of the address that don't apply, by the record of who decided; one sentence for each reason.
 * @param {Decision} decision
 */
function refusedSettings({ settings, in_words: applies }) {
  const { conversation = {}, ...own } = settings;
  const said = [...Object.values(own), ...Object.values(conversation)].flatMap((one) => one.said);
  const refused = said.filter(
    ({ source, raw, outcome }) => source === "URL" && raw !== null && REFUSED.includes(outcome),
  );
  return [...Map.groupBy(refused, ({ why }) => why)].map(([why, values]) => {
    const asked = values.map(({ name, raw }) => `${name}=${raw}`).join(", ");
    return say("Your link asked for {asked}: {why}. What applies: {applies}.", {
      asked,
      why,
      applies,
    });
  });
}
