/** Which exchanges become the summary: a box for each, and a slider up to which. */

import { byId, h, setChildren, setText } from "../elements/dom.js";
import { formatNumber } from "../state/format.js";
import { say, sayCount } from "../words/say.js";

/** @import { CompactPlan, FoldingTurn } from "../types/page.js" */

const STAYS = { "": say("stays"), pinned: say("pinned, stays"), newest: say("newest, stays") };

export class CompactTurns {
  /** @param {{take: (seq: number, on: boolean) => void, end: (seq: number) => void}} choose */
  constructor(choose) {
    this.choose = choose;
    this.list = byId("compact-turns");
    this.end = byId("compact-end", HTMLInputElement);
    /** @type {FoldingTurn[]} */
    this.turns = [];
    // The seq of the last one that becomes part of the summary.
    this.last = 0;
    this.end.addEventListener("change", () =>
      choose.end(this.turns[Number(this.end.value) - 1].seq),
    );
  }

  /**
   * @param {CompactPlan} plan
   * @param {number|null} to the turn that was chosen as the end; it may itself stay
   */
  show({ turns, earlier }, to) {
    const folding = turns.filter((turn) => turn.folds);
    this.turns = turns;
    const { scrollTop } = this.list;
    const held = document.activeElement?.id;
    const last = folding.at(-1);
    this.last = last?.seq ?? 0;
    setChildren(
      this.list,
      turns.map((turn) => this.#row(turn, turn === last)),
    );
    this.list.scrollTop = scrollTop;
    if (held?.startsWith("compact-turn-"))
      document.getElementById(held)?.focus({ preventScroll: true });
    setText(
      byId("compact-count"),
      sayCount(
        "{count} of {total} exchanges becomes the summary",
        "{count} of {total} exchanges become the summary",
        folding.length + earlier,
        { total: formatNumber(turns.length + earlier) },
      ),
    );
    // The newest always stays.
    this.end.max = String(turns.length - 1);
    const end = turns.findIndex(({ seq }) => seq === (to ?? this.last));
    this.end.value = String(end + 1 || 1);
    this.end.setAttribute("aria-valuetext", last?.text ?? "");
    this.end.parentElement?.toggleAttribute("hidden", turns.length < 4);
  }

  /** Scrolls to where the summary ends. */
  showEnd() {
    const end = this.list.querySelector(".end");
    if (end instanceof HTMLElement)
      this.list.scrollTop = end.offsetTop - this.list.clientHeight / 2;
  }

  /**
   * @param {FoldingTurn} turn
   * @param {boolean} last
   */
  #row({ seq, text, tokens, folds, stays }, last) {
    const box = h("input", { type: "checkbox", id: `compact-turn-${seq}` });
    box.checked = folds;
    box.disabled = stays === "pinned" || stays === "newest";
    box.addEventListener("change", () => this.choose.take(seq, box.checked));
    const told = folds
      ? sayCount("{count} token", "{count} tokens", tokens)
      : STAYS[stays === "taken out" ? "" : stays];
    return h(
      "li",
      { class: `${folds ? "folds" : ""} ${last ? "end" : ""}` },
      h("label", {}, box, h("span", { dir: "auto" }, text), h("small", {}, told)),
    );
  }
}
