/** The box under a message or an answer that failed or was cut short: what happened, what was kept, what to do. */

import { announce } from "../elements/announce.js";
import { h, setChildren, setText, textButton } from "../elements/dom.js";
import { icon } from "../elements/icons.js";
import { say } from "../words/say.js";

/**
 * @import { ItemGroup, Item } from "../state/items.js"
 * @import { Model } from "../types/page.js"
 */

/**
 * @typedef {"reuse"|"continue"|"again"} Choice the first one offered is the button, the others are links
 * @typedef {{text: string, bad: boolean, quiet?: boolean, choices: Choice[], seconds: number}|null} Ended `quiet`: nothing
 *   went wrong, so that a line is enough; `seconds`: so long a new
 *   attempt is refused; 0: not known
 * @typedef {Record<"reuse"|"continue", () => void>
 *   & {again: (model?: string) => void, other: () => Promise<Model|null>}} EndingActs `other`: a model that could answer instead
 */

// In seconds: nobody watches a longer countdown, and who knows better may try.
const LONGEST = 120;

/** @type {Record<string, string>} */
const ENDINGS = {
  stopped: say("Stopped. What was written is kept."),
  interrupted: say("Interrupted. What was written is kept."),
  failed: say("The answer failed. What was written is kept."),
};
/**
 * By the codes of problems in the middle of an answer: what is said where something follows it. Their own sentences
 * advise to continue it, which isn't offered there any more.
 * @type {Record<string, string>}
 */
const BROKEN = {
  interrupted: say("The connection broke here. The part received is kept."),
  timeout: say("The provider fell silent here. The part received is kept."),
  failed_midway: say("The provider reported an error here. The part received is kept."),
  malformed: say("The provider's answer couldn't be read further. The part received is kept."),
};
/** @type {Record<string, string>} */
const FINISHES = {
  length: say("The answer hit this agent's length limit."),
  content_filter: say("The provider's content filter stopped the answer."),
};
/** @type {Record<Choice, string>} */
const LABELS = {
  reuse: say("Edit and resend"),
  continue: say("Continue"),
  again: say("Try again"),
};

/**
 * @param {ItemGroup} group
 * @returns {Ended}
 */
export function describeEnding({ items, last }) {
  const item = /** @type {Item} */ (items.at(-1));
  if (item.role === "user") return describeUserEnding(item, last);
  if (item.writing) return null;
  const unfinished = item.calls.length > 0 && last ? say("This message has no answer.") : "";
  const cut = ENDINGS[item.state];
  // What its problem advises is no longer offered once something follows.
  const told = last ? undefined : BROKEN[item.problem?.code ?? ""];
  const text = cut ? (told ?? item.problem?.message ?? cut) : (FINISHES[item.finish] ?? unfinished);
  if (!text) return null;
  const open = Boolean(cut) || item.finish === "length";
  const longer = last && open && Boolean(item.content.trim()) && !item.calls.length;
  /** @type {Choice[]} */
  const choices = last ? (longer ? ["continue", "again"] : ["again"]) : [];
  return {
    text,
    bad: item.state === "failed",
    choices,
    seconds: (last && item.problem?.seconds) || 0,
  };
}

/**
 * @param {Item} item of a user message
 * @param {boolean} last
 * @returns {Ended}
 */
function describeUserEnding({ problem, failed }, last) {
  if (!problem && !failed) return null;
  // Its answer was deleted, or never asked for.
  if (!problem)
    return {
      text: say("There is no answer here."),
      bad: false,
      quiet: true,
      choices: last ? ["again", "reuse"] : ["reuse"],
      seconds: 0,
    };
  const text = problem.message;
  const open = failed && last;
  return {
    text,
    bad: true,
    choices: open ? ["again", "reuse"] : ["reuse"],
    seconds: (open && problem?.seconds) || 0,
  };
}

export class Ending {
  /** @param {EndingActs} acts */
  constructor(acts) {
    this.acts = acts;
    this.element = h("div", { class: "ending", hidden: true });
    this.drawn = "";
    /** Whether nothing is to be done any more, so that a line is enough. */
    this.folded = false;
    this.timer = 0;
  }

  /** @param {Ended} ended */
  update(ended) {
    const drawn = JSON.stringify(ended);
    if (drawn === this.drawn) return;
    this.drawn = drawn;
    clearInterval(this.timer);
    this.element.hidden = !ended;
    const open =
      !ended?.quiet &&
      Boolean(ended?.choices.includes("again") || ended?.choices.includes("continue"));
    this.element.classList.toggle("bad", Boolean(ended?.bad && open));
    this.folded = !open;
    this.element.classList.toggle("folded", this.folded);
    if (!ended) return setChildren(this.element);
    const [first, ...rest] = ended.choices;
    const acts = h(
      "div",
      { class: "ending-acts" },
      first && this.#button(first, open),
      rest.map((one) => this.#button(one, false)),
    );
    setChildren(
      this.element,
      !ended.quiet && icon("warn", 15),
      h("span", { class: "ending-words" }, ended.text),
      acts,
    );
    if (ended.bad && open) void this.#offerOther(acts, drawn);
    if (ended.seconds > LONGEST) {
      acts.before(
        h(
          "span",
          { class: "ending-wait" },
          say("It asks to wait {minutes} minutes.", { minutes: Math.ceil(ended.seconds / 60) }),
        ),
      );
    } else if (ended.seconds) this.#count(acts, ended.seconds);
  }

  /**
   * @param {Choice} choice
   * @param {boolean} main
   */
  #button(choice, main) {
    return textButton(LABELS[choice], () => this.acts[choice](), {
      class: main ? "plain-button" : "link",
      "data-choice": choice,
    });
  }

  /**
   * @param {HTMLElement} acts
   * @param {string} drawn
   */
  async #offerOther(acts, drawn) {
    const model = await this.acts.other();
    if (!model || this.drawn !== drawn) return;
    const words = say("Answer with {model} instead", { model: model.label });
    acts.append(textButton(words, () => this.acts.again(model.name)));
  }

  /**
   * Counts down to the moment when a new attempt is let through; said aloud once, when it has come.
   * @param {HTMLElement} acts
   * @param {number} seconds
   */
  #count(acts, seconds) {
    const button = /** @type {HTMLButtonElement|null} */ (
      acts.querySelector('[data-choice="again"]')
    );
    if (!button) return;
    const until = performance.now() + seconds * 1_000;
    const draw = () => {
      const left = Math.ceil((until - performance.now()) / 1_000);
      button.disabled = left > 0;
      setText(button, left > 0 ? say("Try again in {seconds} s", { seconds: left }) : LABELS.again);
      if (left > 0) return;
      clearInterval(this.timer);
      announce(say("You can try again now."));
    };
    draw();
    this.timer = window.setInterval(
      () => (this.element.isConnected ? draw() : clearInterval(this.timer)),
      1_000,
    );
  }
}
