/** What changed since the request before, drawn to scale, and why it wasn't read from the cache. */

import { h } from "../elements/dom.js";
import { formatDollars, formatNumber } from "../state/format.js";
import { say } from "../words/say.js";
import { ELSEWHERE, describeCause, describeTold } from "./causes.js";
import { term } from "./terms.js";
import { describePlace } from "./verdicts.js";

/**
 * @import { Decision, Since } from "../types/wire.js"
 * @import { Section } from "./panel.js"
 */

// Nobody plans further ahead, in messages.
const FORESEEN = 100;
/** @type {[string, string[], string, string][]} a class; the changes, a name and its meaning */
const FATES = [
  [
    "stayed",
    ["stayed"],
    say("the same beginning"),
    say("Both requests begin with these tokens, so the provider may have them in its cache."),
  ],
  [
    "anew",
    ["moved"],
    say("the same, read anew"),
    say(
      "Both requests have these tokens, but something before them changed: no cache serves them.",
    ),
  ],
  ["came", ["came", "edited", "cut"], say("new or changed"), say("Only this request has them.")],
  ["went", ["went"], say("no longer sent"), say("Only the request before had them.")],
];

/**
 * @param {Decision} decision
 * @returns {Section|null}
 */
export function sinceSection({ since, reported }) {
  if (!since) return null;
  return {
    data: [since, reported],
    draw: () => [
      h("h3", {}, say("Since the request before")),
      ...(since.segments.length ? [bar(since), key(since)] : []),
      ...sentences(since, reported?.miss).map((one) => h("p", { class: "reuse" }, one)),
      since.segments.length > 0 && numbers(since, reported?.cost),
    ],
  };
}

/**
 * Each run as wide as its share of both requests; a line where the cache was lost.
 * @param {Since} since
 */
function bar({ cause, segments }) {
  const drawn = segments.filter(({ tokens }) => tokens > 0);
  const total = drawn.reduce((sum, { tokens }) => sum + tokens, 0) || 1;
  const parted = ELSEWHERE.includes(cause)
    ? 0
    : drawn.findIndex(({ change }) => change !== "stayed");
  return h(
    "div",
    { class: "bar since", "aria-hidden": "true" },
    drawn.flatMap(({ change, tokens }, index) => {
      const [fate] = FATES.find(([, changes]) => changes.includes(change)) ?? ["came"];
      const piece = h("i", { class: `fate-${fate}` });
      piece.style.flexGrow = String(tokens / total);
      return cause && index === parted
        ? [h("b", { title: say("The cache was lost here.") }), piece]
        : [piece];
    }),
  );
}

/** @param {Since} since */
function key({ segments }) {
  return h(
    "ul",
    { class: "key" },
    FATES.flatMap(([fate, changes, words, meaning]) => {
      const found = segments.filter(({ change }) => changes.includes(change));
      const tokens = found.reduce((sum, one) => sum + one.tokens, 0);
      if (!tokens) return [];
      const stored = fate === "stayed" ? [] : found.filter(({ last }) => last > 0);
      return h(
        "li",
        {},
        h("i", { class: `fate-${fate}` }),
        term(`fate-${fate}`, words, meaning),
        ` ${formatNumber(tokens)}`,
        stored.length > 0 &&
          h("small", {}, ` (${stored.map((one) => describePlace(one)).join(", ")})`),
      );
    }),
  );
}

/**
 * Where and why the cache was lost, what that cost, and when it is expected again.
 * @param {Since} since
 * @param {string} [miss]
 */
function sentences(since, miss) {
  const { cause, available, predicted, reported, premium, next_cut: next, exact } = since;
  const missed = Math.max(0, available - (reported ?? predicted));
  return [
    describeCause(since),
    describeTold(miss),
    cause &&
      missed > 0 &&
      premium &&
      say("{count} tokens were paid in full that way: {price} more.", {
        count: formatNumber(missed),
        price: formatDollars(missed * premium),
      }),
    next === 1 && say("The policy moves its cut with the next message."),
    next > 1 && exact && say("The policy moves its cut in {next} messages.", { next }),
    next > 1 &&
      !exact &&
      next <= FORESEEN &&
      say("The policy moves its cut in about {next} messages.", { next }),
  ].filter(Boolean);
}

/**
 * Predicted and reported side by side.
 * @param {Since} since
 * @param {number|null|undefined} cost
 */
function numbers({ predicted, reported, premium }, cost) {
  if (reported === null) return null;
  const guess = premium && cost ? Math.max(0, cost - (predicted - reported) * premium) : 0;
  return h(
    "dl",
    { class: "facts" },
    h("dt", {}, term("cached", say("Cached"))),
    h("dd", {}, beside(formatNumber(predicted), formatNumber(reported))),
    cost &&
      guess && [
        h("dt", {}, term("cost", say("Cost"))),
        h("dd", {}, beside(formatDollars(guess), formatDollars(cost))),
      ],
  );
}

/**
 * @param {string} predicted
 * @param {string} reported
 */
const beside = (predicted, reported) =>
  say("{predicted} predicted, {reported} reported", { predicted, reported });
