/** The requests of a turn with tools: the tokens sent, the provider's numbers, and the calls that followed. */

import { h } from "../elements/dom.js";
import { formatDuration, formatNumber } from "../state/format.js";
import { say } from "../words/say.js";
import { none, table, unseen } from "./table.js";
import { term } from "./terms.js";

/**
 * @import { Decision, Round } from "../types/wire.js"
 * @import { Section } from "./panel.js"
 */

/**
 * @param {Decision} receipt
 * @returns {Section|null}
 */
export function roundsSection(receipt) {
  const { rounds: all = [], looked_back: looks = [] } = receipt;
  if (!all.length) return null;
  const retries = all.filter(({ retried }) => retried);
  return {
    data: [all, looks],
    draw: () => [
      h("h3", {}, say("Rounds"), h("small", {}, say("tokens"))),
      table(
        "rounds",
        say("Each request of this turn, in tokens"),
        [
          unseen(say("round")),
          term("counted", say("sent")),
          term("prompt", say("read")),
          term("cached", say("reused")),
          term("completion", say("answer")),
          term("first", say("first")),
        ],
        all.flatMap(row),
      ),
      retries.length > 0 &&
        h(
          "ul",
          { class: "reasons" },
          retries.map(({ round, retried }) =>
            h("li", {}, h("b", {}, say("Round {round}:", { round })), " ", retried),
          ),
        ),
      looks.length > 0 &&
        h(
          "p",
          { class: "quiet looks" },
          say("The model looked back: {what}.", { what: looks.map(describeLook).join("; ") }),
        ),
    ],
  };
}

/** @param {NonNullable<Decision["looked_back"]>[number]} look */
function describeLook({ query = "", found = [], opened }) {
  if (opened) return say("opened message {number}", { number: opened });
  if (!found.length) return say("searched “{query}”, nothing found", { query });
  const numbers = found.join(", ");
  return say("searched “{query}”, {count} found ({numbers})", {
    query,
    count: found.length,
    numbers,
  });
}

/** @param {Round} round */
function row({ round, sent_tokens: sent, reported, calls, first_token_ms: first }) {
  const numbers = [sent, reported?.prompt, reported?.cached, reported?.completion].map(formatCount);
  const led = calls.length ? say("then {calls}", { calls: calls.join(", ") }) : "";
  return [
    h(
      "tr",
      {},
      h("th", { scope: "row" }, round),
      numbers.map((one) => h("td", {}, one)),
      h("td", {}, typeof first === "number" ? formatDuration(first) : none(say("not said"))),
    ),
    led && h("tr", { class: "led" }, h("td", {}), h("td", { colspan: "5" }, led)),
  ];
}

/** @param {number|null|undefined} value */
const formatCount = (value) =>
  typeof value === "number" ? formatNumber(value) : none(say("not said"));
