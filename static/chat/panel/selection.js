/** How the messages were chosen: the reports of those who gathered the evidence. */

import { h } from "../elements/dom.js";
import { formatDollars, formatDuration, formatNumber } from "../state/format.js";
import { say, sayCount } from "../words/say.js";
import { term } from "./terms.js";
import { describePlace } from "./verdicts.js";

/**
 * @import { Decision, Report } from "../types/wire.js"
 * @import { Section } from "./panel.js"
 */

/** @type {Record<string, string>} */
const NAMES = {
  milliseconds: say("Time"),
  prompt: say("Prompt"),
  completion: say("Answer"),
  cached: say("Cached"),
  by: say("Written by"),
  passages: say("Messages searched"),
  added: say("Newly indexed"),
  hits: say("Matches"),
  vectors: say("Compared by meaning"),
  result: say("Result"),
  model: say("Model"),
  asked: say("Model asked"),
  candidates: say("Candidates"),
  chosen: say("Chosen"),
  estimated_prompt: say("Estimated prompt"),
  file: say("File"),
  slots: say("Parts"),
  calls: say("Requests"),
  tokens: say("Tokens"),
  seconds: say("Seconds"),
  shortened: say("Shortened"),
};
/** @type {Record<string, string>} how each row is explained, where not under its own key */
const TERMS = {
  passages: "searched",
  hits: "matches",
  model: "asked_model",
  tokens: "used_tokens",
};

/**
 * @param {Decision} decision
 * @param {Record<string, string>} titles of the reports, by their keys
 * @returns {Section|null}
 */
export function selectionSection(decision, titles) {
  const reports = Object.entries(decision.reports ?? {}).filter(
    ([, report]) => Object.keys(report ?? {}).length,
  );
  const hits = decision.verdicts.filter((one) => one.reason === "relevant");
  if (!reports.length && !hits.length) return null;
  return {
    data: [reports, hits],
    draw: () => [
      h("h3", {}, say("How it was chosen")),
      ...reports.map(([name, report]) =>
        h(
          "div",
          { class: "report" },
          h("h4", {}, titles[name] ?? titleOf(name)),
          h(
            "dl",
            { class: "facts small" },
            Object.entries(report)
              .filter(hasValue)
              .flatMap(([key, value]) => [
                h("dt", {}, term(TERMS[key] ?? key, NAMES[key] ?? titleOf(key))),
                h("dd", {}, formatValue(key, value)),
              ]),
          ),
        ),
      ),
      hits.length > 0 &&
        h(
          "ul",
          { class: "hits" },
          hits.map((one) => h("li", {}, h("b", {}, describePlace(one)), ` ${one.sentence}`)),
        ),
    ],
  };
}

/** @param {[string, unknown]} entry */
const hasValue = ([, value]) => value !== null && value !== undefined && value !== "";

/** @param {string} name */
const titleOf = (name) => name.slice(0, 1).toUpperCase() + name.slice(1).replaceAll("_", " ");

/**
 * A report's value in words; a provider's numbers are labelled as such.
 * @param {string} key
 * @param {unknown} value
 */
function formatValue(key, value) {
  if (typeof value === "boolean") return value ? say("yes") : say("no");
  if (typeof value === "object" && value) return formatInside(value) || say("none");
  if (typeof value !== "number") return String(value);
  if (key === "milliseconds") return formatDuration(value);
  if (key === "cost") return say("{cost}, estimated", { cost: formatDollars(value) });
  if (["prompt", "completion", "cached"].includes(key))
    return sayCount("{count} token, reported", "{count} tokens, reported", value);
  return Number.isInteger(value) ? formatNumber(value) : value.toFixed(2);
}

/**
 * A list or a record on one line: "name recent, messages 4; name facts, messages 2".
 * @param {unknown} value
 * @returns {string}
 */
function formatInside(value) {
  if (value === null || typeof value !== "object")
    return typeof value === "number" ? formatNumber(value) : String(value);
  if (Array.isArray(value))
    return value.map(formatInside).join(value.some((one) => typeof one === "object") ? "; " : ", ");
  return Object.entries(value)
    .filter(hasValue)
    .map(([name, one]) => `${titleOf(name).toLowerCase()} ${formatInside(one)}`)
    .join(", ");
}
