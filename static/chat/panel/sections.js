/** Sections made of a decision alone: facts, notes, parts of the prompt, the provider's numbers. */

import { h } from "../elements/dom.js";
import { describeTooMany, formatDollars, formatDuration, formatNumber } from "../state/format.js";
import { describeWhole } from "../state/price.js";
import { tokensTooMany } from "../state/state.js";
import { say, sayCount } from "../words/say.js";
import { SOURCES } from "./settings.js";
import { term } from "./terms.js";

/**
 * @import { Child } from "../elements/dom.js"
 * @import { Decision, Facts, Part, Reported, Verdict } from "../types/wire.js"
 * @import { State } from "../types/state.js"
 * @import { Section } from "./panel.js"
 */

/** @type {Record<string, string>} parts that aren't shown under their own names */
const PARTS = {
  system: say("system"),
  own: say("your instructions"),
  prefilled: say("prefilled"),
  tools: say("tools"),
  instructions: say("instructions in force"),
  strategy: say("from the agent's strategy"),
  summary: say("summary"),
  history: say("history"),
  recalled: say("quotes"),
  notes: say("dates and notes"),
  current: say("this message"),
  reply: say("reserved for the reply"),
  free: say("free"),
};

/**
 * @param {Decision} decision
 * @returns {Section}
 */
export function factsSection(decision) {
  const { facts, locked, lock_reason: reason } = decision;
  const current = decision.verdicts.find((one) => one.reason === "current")?.first ?? 0;
  const tooMany = tokensTooMany(decision);
  const quotes = decision.verdicts.filter((one) => one.quoted);
  const quoted = sumMessages(quotes);
  const stay = sumMessages(quotes.filter(({ before }) => before && before < current));
  return {
    data: [facts, locked, reason, quoted, stay, tooMany > 0],
    draw: () => [
      h(
        "dl",
        { class: "facts" },
        h("dt", {}, term("policy", say("Policy"))),
        h("dd", {}, facts.policy),
        h("dt", {}, term("length", say("Length"))),
        h("dd", {}, describeLength(facts)),
        h("dt", {}, term("source", say("Source"))),
        h(
          "dd",
          {},
          describeSource(facts.source),
          locked && " ",
          locked && h("span", { class: "lock" }, say("locked")),
        ),
        h("dt", {}, term("messages", say("Messages"))),
        h(
          "dd",
          {},
          describeMessages(facts, tooMany > 0),
          quoted > 0 && describeQuoted(quoted, stay),
        ),
      ),
      locked && reason && h("p", { class: "reason" }, reason),
    ],
  };
}

/**
 * "agent", or each setting with its own: "policy: agent, length: URL".
 * @param {string} source
 */
const describeSource = (source) =>
  Object.entries(SOURCES).reduce((words, [name, shown]) => words.replaceAll(name, shown), source);

/**
 * @param {number} quoted
 * @param {number} stay
 */
const describeQuoted = (quoted, stay) =>
  stay > 0
    ? say(", {quoted} of them as quotes ({stay} for earlier messages)", {
        quoted: formatNumber(quoted),
        stay: formatNumber(stay),
      })
    : say(", {quoted} of them as quotes", { quoted: formatNumber(quoted) });

/** @param {Verdict[]} verdicts */
const sumMessages = (verdicts) => verdicts.reduce((sum, { messages }) => sum + messages, 0);

/**
 * How many messages are stored, and how many of them the request has; the draft isn't one of them.
 * @param {Facts} facts
 * @param {boolean} tooLarge
 */
function describeMessages({ stored, sent, draft }, tooLarge) {
  const numbers = { stored: formatNumber(stored), sent: formatNumber(sent) };
  if (tooLarge)
    return say("{stored} in the conversation, none can be sent with your draft", numbers);
  if (!draft) return say("{stored} in the conversation then, {sent} sent", numbers);
  const written = draft === "written";
  if (!stored && written)
    return say("{stored} in the conversation; your draft would be sent", numbers);
  if (!stored) return say("{stored} in the conversation", numbers);
  return written
    ? say("{stored} in the conversation, {sent} would be sent with your draft", numbers)
    : say("{stored} in the conversation, {sent} would be sent", numbers);
}

/** @param {Facts} facts */
function describeLength({ length, policy }) {
  if (!length) return h("span", { class: "quiet" }, say("not used by {policy}", { policy }));
  if (!/^\d+$/.test(length)) return say("{length} user message", { length });
  return sayCount("{count} user message", "{count} user messages", Number(length));
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
    draw: () => [
      h("h3", {}, say("Please note")),
      h(
        "ul",
        { class: "notes" },
        sentences.map((one) => h("li", {}, one)),
      ),
    ],
  };
}

/**
 * @param {Decision} decision
 * @param {{next: boolean, before: boolean, here: boolean}} view `before`: there was a request before this one; `here`: the
 *   model runs on this machine
 * @returns {Section}
 */
export function partsSection(decision, { next, before, here }) {
  const {
    price,
    parts: all,
    prompt_tokens: total,
    limit,
    leading,
    budget,
    window: size,
    reply,
    dropped = [],
  } = decision;
  // Under a token budget free tokens are those of the budget, not of the model's window.
  const measured =
    !budget || limit !== budget
      ? all
      : all.flatMap((part) => {
          if (part.name === "reply") return [];
          return [part.name === "free" ? { ...part, tokens: Math.max(0, limit - total) } : part];
        });
  const counted = measured.filter((part) => part.tokens > 0);
  const sent = counted.filter((part) => part.name !== "free" && part.name !== "reply");
  const tooMany = tokensTooMany(decision);
  const bases = new Set(sent.map((part) => part.basis));
  const one = bases.size === 1 ? [...bases][0] : null;
  return {
    data: [price, all, total, limit, leading, budget, size, reply, dropped, next, before, here],
    draw: () => [
      h(
        "h3",
        {},
        tooMany
          ? say("What it would take")
          : next
            ? say("What would be sent")
            : say("What was sent"),
        tooMany
          ? h("small", { class: "over" }, describeTooMany(decision))
          : h(
              "small",
              {},
              say("{total} of {limit} tokens", {
                total: formatNumber(total),
                limit: formatNumber(limit),
              }),
            ),
      ),
      bar(counted, before && !tooMany ? leading : 0),
      h(
        "ul",
        { class: "key" },
        counted.map((part) =>
          h(
            "li",
            {},
            h("i", { class: `seg-${part.name}` }),
            term(part.name, PARTS[part.name] ?? part.name),
            ` ${formatNumber(part.tokens)}`,
            !one && part.basis && sent.includes(part) && h("small", {}, ` ${part.basis}`),
          ),
        ),
      ),
      before &&
        !tooMany &&
        h("p", { class: "reuse" }, leading > 0 && h("i", {}), describeReuse(leading, total, here)),
      price && !tooMany && h("p", { class: "quiet price" }, describeWhole(price)),
      h(
        "p",
        { class: "quiet" },
        [
          one ? (BASES[one] ?? "") : "",
          budget
            ? say("The limit is the token budget, {budget}.", { budget: formatNumber(budget) })
            : say("The model's window is {size} tokens.", { size: formatNumber(size) }),
        ]
          .filter(Boolean)
          .join(" "),
      ),
      ...dropped.map((sentence) => h("p", { class: "quiet" }, sentence)),
    ],
  };
}

/** @type {Record<string, string>} */
const BASES = {
  counted: say("Token counts are exact."),
  estimated: say("Token counts are estimates."),
  reported: say("Token counts are the provider's."),
};

// Tokens: OpenAI's least, and that of most of Anthropic's models.
const USUAL_LEAST = 1024;

/**
 * How much of the prompt's beginning equals that of the request before it.
 * @param {number} leading
 * @param {number} total
 * @param {boolean} here
 */
function describeReuse(leading, total, here) {
  if (!leading) {
    return [
      say("Nothing at the beginning is"),
      " ",
      term("unchanged", say("unchanged")),
      here
        ? say(", so this machine reads all of it.")
        : say(", so the provider can't serve any of it from its cache."),
    ];
  }
  const share = Math.floor((100 * leading) / Math.max(1, total));
  return [
    say("The first {leading} of {total} tokens ({share}%) are", {
      leading: formatNumber(leading),
      total: formatNumber(total),
      share,
    }),
    " ",
    term("unchanged", say("unchanged")),
    here
      ? say(", so this machine reads only the rest again.")
      : leading < USUAL_LEAST
        ? say(". Many providers keep only longer beginnings in their cache.")
        : say(", so the provider may serve them from its cache."),
  ];
}

/**
 * The bar to scale: each part as wide as its share of all that there is room for, and wide enough to be seen.
 * @param {Part[]} all
 * @param {number} leading
 */
function bar(all, leading) {
  const total = all.reduce((sum, part) => sum + part.tokens, 0) || 1;
  const pieces = all.map((part) => {
    const piece = h("i", { class: `seg-${part.name}` });
    piece.style.flexGrow = String(part.tokens / total);
    return piece;
  });
  const same = h("i", {});
  same.style.width = `${Math.min(100, (100 * leading) / total)}%`;
  return h(
    "div",
    { "aria-hidden": "true" },
    h("div", { class: "bar" }, pieces),
    h("div", { class: "same" }, leading > 0 && same),
  );
}

/**
 * @param {Decision} receipt
 * @returns {Section|null}
 */
export function reportedSection(receipt) {
  /** @type {Reported} */
  const numbers = receipt.reported ?? {};
  const rows = [
    numberRow(term("prompt", say("Prompt")), numbers.prompt, formatTokens),
    numberRow(term("cached", say("Cached")), numbers.cached, formatTokens),
    numberRow(term("completion", say("Answer")), numbers.completion, formatTokens),
    numberRow(term("first", say("First token")), numbers.first_token_ms, (value) =>
      say("after {time}", { time: formatDuration(value) }),
    ),
    numberRow(term("cost", say("Cost")), numbers.cost, (value) => [
      formatDollars(value),
      " ",
      h("span", { class: "quiet" }, say("estimated from list prices")),
    ]),
  ].flat();
  const { provider } = receipt;
  if (!rows.length && !provider) return null;
  return {
    data: [numbers, provider],
    draw: () => [
      h("h3", {}, say("What the provider reported")),
      h(
        "dl",
        { class: "facts" },
        provider && [
          h("dt", {}, term("model", say("Model"))),
          h("dd", {}, provider.label || provider.model),
        ],
        rows,
      ),
      !rows.length && h("p", { class: "quiet" }, say("No numbers yet.")),
    ],
  };
}

/**
 * A row of the list; none where the provider reported no number.
 * @param {Child} label
 * @param {number|null|undefined} value
 * @param {(value: number) => Child|Child[]} format
 */
const numberRow = (label, value, format) =>
  typeof value === "number" ? [h("dt", {}, label), h("dd", {}, format(value))] : [];

/** @param {number} count */
const formatTokens = (count) => sayCount("{count} token", "{count} tokens", count);
