/** Sections made of a decision alone: facts, notes, parts of the prompt, the provider's numbers. */

import { h } from "../elements/dom.js";
import { formatDollars, formatDuration, formatNumber, plural } from "../state/format.js";

/**
 * @import { Child } from "../elements/dom.js"
 * @import { Decision, Facts, Part, Reported, Verdict } from "../types/wire.js"
 * @import { Section } from "./panel.js"
 */

/** @type {Record<string, string>} parts that aren't shown under their own names */
const PARTS = { current: "this message", reply: "kept for the reply" };

// A prompt shorter than its limit divided by this is drawn without the free tokens.
const SCALE = 12;

/**
 * @param {Decision} decision
 * @returns {Section}
 */
export function factsSection(decision) {
  const { facts, locked, lock_reason: reason } = decision;
  const current = decision.verdicts.find((one) => one.reason === "current")?.first ?? 0;
  const quotes = decision.verdicts.filter((one) => one.quoted);
  const quoted = sumMessages(quotes);
  const stay = sumMessages(quotes.filter(({ before }) => before && before < current));
  return {
    data: [facts, locked, reason, quoted, stay],
    draw: () => [
      h("dl", { class: "facts" },
        h("dt", {}, "Policy"), h("dd", {}, facts.policy),
        h("dt", {}, "Length"), h("dd", {}, describeLength(facts)),
        h("dt", {}, "Source"), h("dd", {}, facts.source, locked && " ", locked && h("span", { class: "lock" }, "locked")),
        h("dt", {}, "Messages"),
        h("dd", {}, describeMessages(facts),
          quoted > 0 && `, ${formatNumber(quoted)} of them quoted`, stay > 0 && ` (${formatNumber(stay)} for earlier messages)`)),
      locked && reason && h("p", { class: "reason" }, reason),
    ],
  };
}

/** @param {Verdict[]} verdicts */
const sumMessages = (verdicts) => verdicts.reduce((sum, { messages }) => sum + messages, 0);

/**
 * How many messages are stored, and how many of them the request has; the draft isn't one of them.
 * @param {Facts} facts
 */
function describeMessages({ stored, sent, draft }) {
  const [here, gone] = [`${formatNumber(stored)} in the conversation`, formatNumber(sent)];
  if (!draft) return `${here} then, ${gone} sent`;
  const written = draft === "written";
  if (!stored) return written ? `${here}; your draft would be sent` : here;
  return `${here}, ${gone} would be sent${written ? " with your draft" : ""}`;
}

/** @param {Facts} facts */
function describeLength({ length, policy }) {
  if (!length) return h("span", { class: "quiet" }, `not used by ${policy}`);
  if (!/^\d+$/.test(length)) return `${length} user message`;
  return plural(Number(length), "user message");
}

/**
 * Where the request differs from what the settings ask; null where it doesn't.
 * @param {Decision} decision
 * @returns {Section|null}
 */
export function notesSection(decision) {
  const cut = decision.server_cut?.sentence;
  const sentences = [...(cut ? [cut] : []), ...(decision.notes ?? []), ...(decision.files ?? [])];
  if (!sentences.length) return null;
  return {
    data: sentences,
    draw: () => [h("h3", {}, "Please note"), h("ul", { class: "notes" }, sentences.map((one) => h("li", {}, one)))],
  };
}

/**
 * @param {Decision} decision
 * @param {{next: boolean, before: boolean}} view `before`: there was a request before this one
 * @returns {Section}
 */
export function partsSection(decision, { next, before }) {
  const { parts: all, prompt_tokens: total, limit, leading, budget, window: size, reply, dropped = [] } = decision;
  // Under a token budget free tokens are those of the budget, not of the model's window.
  const measured = !budget || limit !== budget ? all : all.flatMap((part) => {
    if (part.name === "reply") return [];
    return [part.name === "free" ? { ...part, tokens: Math.max(0, limit - total) } : part];
  });
  const counted = measured.filter((part) => part.tokens > 0);
  const bases = new Set(counted.filter((part) => part.name !== "free" && part.name !== "reply").map((part) => part.basis));
  const one = bases.size === 1 ? [...bases][0] : null;
  // In a large window a short prompt would be a stroke: then the bar is the prompt alone.
  const drawn = total * SCALE < limit ? counted.filter((part) => part.name !== "free" && part.name !== "reply") : counted;
  return {
    data: [all, total, limit, leading, budget, size, reply, dropped, next, before],
    draw: () => [
      h("h3", {}, next ? "What would be sent" : "What was sent", h("small", {}, `${formatNumber(total)} of ${formatNumber(limit)} tokens`)),
      bar(drawn, before ? leading : 0),
      h("ul", { class: "key" }, counted.map((part) =>
        h("li", {}, drawn.includes(part) && h("i", { class: `seg-${part.name}` }), `${PARTS[part.name] ?? part.name} ${formatNumber(part.tokens)}`,
          !one && part.basis && part.name !== "free" && part.name !== "reply" && h("small", {}, ` ${part.basis}`)))),
      before && h("p", { class: "reuse" }, leading > 0 && h("i", {}), describeReuse(leading, total)),
      h("p", { class: "quiet" }, [
        one ? `All ${one}. ` : "",
        budget ? `The limit is the token budget, ${formatNumber(budget)}. ` : `The model's window is ${formatNumber(size)}, of which ${formatNumber(reply)} are kept for the reply. `,
      ].join("")),
      ...dropped.map((sentence) => h("p", { class: "quiet" }, sentence)),
    ],
  };
}

/**
 * How much of the prompt's beginning equals that of the request before it.
 * @param {number} leading
 * @param {number} total
 */
function describeReuse(leading, total) {
  if (!leading) return "None of its beginning is the same as last time: a provider has nothing to reuse.";
  const share = Math.floor((100 * leading) / Math.max(1, total));
  return `${formatNumber(leading)} of ${formatNumber(total)} tokens (${share} %) are the same as last time: a provider can reuse them.`;
}

/**
 * @param {Part[]} all
 * @param {number} leading
 */
function bar(all, leading) {
  const total = all.reduce((sum, part) => sum + part.tokens, 0) || 1;
  const pieces = all.map((part) => {
    const piece = h("i", { class: `seg-${part.name}` });
    piece.style.width = `${(100 * part.tokens) / total}%`;
    return piece;
  });
  const same = h("i", {});
  same.style.width = `${Math.min(100, (100 * leading) / total)}%`;
  return h("div", { "aria-hidden": "true" }, h("div", { class: "bar" }, pieces), h("div", { class: "same" }, leading > 0 && same));
}

/**
 * @param {Decision} receipt
 * @returns {Section|null}
 */
export function reportedSection(receipt) {
  /** @type {Reported} */
  const numbers = receipt.reported ?? {};
  const rows = [
    numberRow("Prompt", numbers.prompt, formatTokens),
    numberRow("Cached", numbers.cached, formatTokens),
    numberRow("Answer", numbers.completion, formatTokens),
    numberRow("First token", numbers.first_token_ms, (value) => `after ${formatDuration(value)}`),
    numberRow("Cost", numbers.cost, (value) => [formatDollars(value), " ", h("span", { class: "quiet" }, "estimated from list prices")]),
  ].flat();
  const { provider } = receipt;
  if (!rows.length && !provider) return null;
  return {
    data: [numbers, provider],
    draw: () => [
      h("h3", {}, "What the provider reported"),
      h("dl", { class: "facts" },
        provider && [h("dt", {}, "Model"), h("dd", {}, provider.label || provider.model)],
        rows),
      !rows.length && h("p", { class: "quiet" }, "No numbers yet."),
    ],
  };
}

/**
 * A row of the list; none where the provider reported no number.
 * @param {string} label
 * @param {number|null|undefined} value
 * @param {(value: number) => Child|Child[]} format
 */
const numberRow = (label, value, format) =>
  (typeof value === "number" ? [h("dt", {}, label), h("dd", {}, format(value))] : []);

/** @param {number} count */
const formatTokens = (count) => plural(count, "token");
