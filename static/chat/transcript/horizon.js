/** The line above which the model no longer sees: one element that moves through the transcript. */

import { h, pressable, reducedMotion, setChildren, setText, textButton } from "../elements/dom.js";
import { Popover } from "../elements/popover.js";
import { countLeftOut, describeExchanges } from "../state/exchanges.js";
import { capitalize } from "../state/format.js";
import { tokensTooMany } from "../state/state.js";
import { say, sayCount } from "../words/say.js";

/** @import { Decision } from "../types/wire.js" */

const MOVE = 260;
// Why a message isn't sent that nobody misses in a summary of what is above the line.
const STANDS_ALONE = ["summarised", "unanswered", "greeting", "excluded", "background"];

/**
 * What the line says. `empty`: nothing of the conversation is below it; `summary`: the label of its control, "" for none,
 * whether a summary is sent, and the compactions that can be undone and applied again, 0 for none.
 * @typedef {{words: string, sent: boolean, compaction: number, undone: number}} SummaryLine
 * @typedef {{empty: boolean, summary: SummaryLine, decision: Decision}} Line
 */

export class Horizon {
  /**
   * @param {{summary: () => void, change: () => void, compact: () => void,
   *   recall: (version: number, again: boolean) => void}} actions `change`: opens the choice of a policy; `recall`:
   *   undoes a compaction, or applies it again
   */
  constructor(actions) {
    this.words = h("span", {});
    this.line = h("span", { class: "horizon-line", role: "separator" }, this.words);
    const change = textButton(say("change"), actions.change);
    const why = h("button", { type: "button", class: "link" }, say("why"));
    const opens = { "aria-haspopup": "dialog" };
    this.summary = pressable({ class: "summary-open", ...opens }, actions.summary);
    this.compacted = h("span", {});
    this.recall = pressable({ class: "summary-act" }, () => {
      const { compaction = 0, undone = 0 } = this.what?.summary ?? {};
      actions.recall(compaction || undone, !compaction);
    });
    const compact = textButton(say("compact"), actions.compact, opens);
    // What there is to read and to press of it: a menu may be over the rest.
    this.said = h(
      "span",
      { class: "horizon-words" },
      this.line,
      " ",
      h("span", {}, change, " · ", h("span", {}, why), " · ", compact),
    );
    this.below = h("div", { class: "summary-line" }, this.compacted, this.summary, this.recall);
    this.element = h(
      "section",
      { class: "horizon-place", tabindex: "-1", "aria-label": say("Horizon") },
      h("div", { class: "horizon" }, this.said),
      this.below,
    );
    /** Where the line is in the whole conversation, beside the scroll bar. */
    this.mark = h("i", { class: "horizon-mark", "aria-hidden": "true", hidden: true });
    /** @type {Line|null} */
    this.what = null;
    this.why = new Popover(why, {
      label: say("Why the line is here"),
      class: "horizon-pop",
      free: true,
      fill: (box) => this.what && setChildren(box, explain(this.what)),
    });
  }

  /**
   * Places the line before `next`, or at the end where that is null, and describes it.
   * @param {Element} column
   * @param {Element|null} next
   * @param {Line} what
   */
  place(column, next, what) {
    this.what = what;
    const { summary, decision } = what;
    setText(this.summary, summary.words);
    this.summary.hidden = !summary.words;
    setText(this.compacted, summary.compaction ? describeCompacted(decision) : "");
    setText(this.recall, summary.compaction ? say("Undo") : say("Apply again"));
    this.recall.hidden = !(summary.compaction || summary.undone);
    this.below.hidden = this.summary.hidden && this.recall.hidden;
    setText(this.words, describeSent(what));
    this.line.setAttribute(
      "aria-label",
      `${describeLine(what)} ${sayCount("{count} exchange will not be sent.", "{count} exchanges will not be sent.", countLeftOut(decision))}`,
    );
    if (this.element.parentNode === column && this.element.nextElementSibling === next) return;
    const from = this.element.isConnected ? this.element.getBoundingClientRect().top : null;
    const held = /** @type {HTMLElement|null} */ (
      this.element.contains(document.activeElement) ? document.activeElement : null
    );
    column.insertBefore(this.element, next);
    held?.focus({ preventScroll: true }); // what is moved loses the focus
    if (from !== null) this.#glide(from);
  }

  remove() {
    this.why.close({ focus: false });
    this.element.remove();
    this.mark.hidden = true;
  }

  /**
   * Puts the mark beside the scroll bar where the line is.
   * @param {HTMLElement} log
   */
  point({ scrollHeight, clientHeight }) {
    const place =
      this.element.isConnected && scrollHeight > clientHeight
        ? this.element.offsetTop / scrollHeight
        : -1;
    this.mark.hidden = place < 0;
    if (place >= 0) this.mark.style.top = `${(100 * place).toFixed(2)}%`;
  }

  /**
   * Moves from its old place; never further than a screen, or it would be a blur.
   * @param {number} from
   */
  #glide(from) {
    if (reducedMotion()) return;
    const way = from - this.element.getBoundingClientRect().top;
    if (!way) return;
    const start = Math.max(-innerHeight, Math.min(innerHeight, way));
    this.element.animate([{ transform: `translateY(${start}px)` }, { transform: "none" }], {
      duration: MOVE,
      easing: "cubic-bezier(.2, .7, .2, 1)",
    });
  }
}

/** @param {Line} line "19 of 47 exchanges + 1 pinned are sent" */
function describeSent({ empty, summary, decision }) {
  const exchanges = describeExchanges(decision);
  if (tokensTooMany(decision)) return say("Nothing above has room beside your message");
  if (empty && !countAbove(decision) && !decision.exchanges?.sent)
    return summary.sent
      ? say("Only a summary and your new message are sent")
      : say("Only your new message is sent");
  return summary.sent
    ? say("{exchanges} and a summary are sent", { exchanges })
    : say("{exchanges} are sent", { exchanges });
}

/** @param {Decision} decision of a request with a compaction: above the line there may be more than it covers */
function describeCompacted({ verdicts, horizon }) {
  const above = verdicts.filter(({ first }) => first > 0 && first < (horizon ?? 0));
  if (above.some(({ sent, reason }) => !sent && !STANDS_ALONE.includes(reason)))
    return say("The older part of it is sent as your summary");
  return above.some(({ sent }) => sent)
    ? say("The rest above is sent as your summary")
    : say("Everything above is sent as your summary");
}

/**
 * How many exchanges above the line are sent nevertheless.
 * @param {Decision} decision
 */
const countAbove = ({ exchanges }) => (exchanges ? exchanges.pinned + exchanges.older : 0);

/** @param {Line} line */
function describeLine({ empty, summary, decision }) {
  const marked = countAbove(decision);
  if (tokensTooMany(decision)) return say("Nothing can be sent: your message doesn't fit.");
  if (summary.sent && !marked)
    return say("Of everything above this line the model sees only a summary.");
  if (summary.sent) return say("Above this line the model sees a summary, and what is pinned.");
  if (marked > 0) {
    return sayCount(
      "The model no longer sees anything above this line (but for {count} exchange).",
      "The model no longer sees anything above this line (but for {count} exchanges).",
      marked,
    );
  }
  return empty
    ? say("The model sees nothing above this line, only your new message.")
    : say("The model no longer sees anything above this line.");
}

/** @param {Line} line the rule, and what counts */
function explain(line) {
  const { decision } = line;
  if (tokensTooMany(decision)) {
    return [
      h("p", {}, h("b", {}, say("Your message alone is longer than what may be sent."))),
      h(
        "p",
        {},
        say("Nothing of the chat fits beside it. Shorten it, and the line goes back to its place."),
      ),
    ];
  }
  return [
    h("p", {}, h("b", {}, describeLine(line))),
    h("p", {}, say("The rule: {rule}.", { rule: capitalize(decision.in_words) })),
    decision.parts.some(({ name, tokens }) => name === "instructions" && tokens) &&
      h("p", {}, say("Instructions in force are sent with every message, wherever they are.")),
    decision.locked &&
      h("p", {}, decision.lock_reason || say("The administrator decides this here.")),
    h(
      "p",
      {},
      say(
        "An exchange is a message of yours with the answer to it. The one that you are writing is sent as well; a rule counts it too. Nothing is deleted: another rule brings older messages back.",
      ),
    ),
  ];
}
