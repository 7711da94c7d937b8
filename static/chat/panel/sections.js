/** The panel's sections that are made of a decision alone: facts, parts, how it was chosen, usage. */

import { h } from "../elements/dom.js";
import { dollars, duration, number, plural } from "../state/format.js";

const PARTS = {
  system: "system", prefilled: "prefilled", tools: "tools", summary: "summary", recalled: "recalled",
  strategy: "strategy", history: "history", current: "this message", reply: "kept for the reply", free: "free",
};

// A prompt of less than this part of its limit is drawn without what is free.
const SCALE = 12;

/** @param {import("../state/state.js").Decision} decision */
export function facts(decision) {
  const { facts: said, locked, lock_reason: reason } = decision;
  const quoted = decision.verdicts.reduce((sum, one) => sum + (one.quoted ? one.messages : 0), 0);
  return {
    data: [said, locked, reason, quoted],
    draw: () => [
      h("dl", { class: "facts" },
        h("dt", {}, "Policy"), h("dd", {}, said.policy),
        h("dt", {}, "Length"), h("dd", {}, lengthWords(said)),
        h("dt", {}, "Source"), h("dd", {}, said.source, locked && " ", locked && h("span", { class: "lock" }, "locked")),
        h("dt", {}, "Messages"),
        h("dd", {}, `${number(said.stored)} in the conversation, ${number(said.sent)} sent`,
          quoted > 0 && `, ${number(quoted)} of them quoted`)),
      locked && reason && h("p", { class: "reason" }, reason),
    ],
  };
}

function lengthWords({ length, policy }) {
  if (!length) return h("span", { class: "quiet" }, `not used by ${policy}`);
  if (!/^\d+$/.test(length)) return `${length} user message`;
  return plural(Number(length), "user message");
}

/**
 * What didn't go as the settings ask; nothing where all went well.
 * @param {import("../state/state.js").Decision} decision
 */
export function notes(decision) {
  const cut = decision.server_cut?.sentence;
  const said = [...(cut ? [cut] : []), ...(decision.notes ?? []), ...(decision.files ?? [])];
  if (!said.length) return null;
  return {
    data: said,
    draw: () => [h("h3", {}, "Please note"), h("ul", { class: "notes" }, said.map((one) => h("li", {}, one)))],
  };
}

/**
 * @param {import("../state/state.js").Decision} decision
 * @param {{next: boolean, before: boolean}} view `before`: there was a request before this one
 */
export function parts(decision, { next, before }) {
  const { parts: all, prompt_tokens: total, limit, leading, budget, window: size, reply } = decision;
  // Within a budget the model's window is no measure: what is free is free of the budget.
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
    data: [all, total, limit, leading, budget, size, reply, next, before],
    draw: () => [
      h("h3", {}, next ? "What would be sent" : "What was sent", h("small", {}, `${number(total)} of ${number(limit)} tokens`)),
      bar(drawn, before ? leading : 0),
      h("ul", { class: "key" }, counted.map((part) =>
        h("li", {}, drawn.includes(part) && h("i", { class: `seg-${part.name}` }), `${PARTS[part.name] ?? part.name} ${number(part.tokens)}`,
          !one && part.basis && part.name !== "free" && part.name !== "reply" && h("small", {}, ` ${part.basis}`)))),
      before && h("p", { class: "reuse" }, leading > 0 && h("i", {}), reuse(leading, total)),
      h("p", { class: "quiet" }, [
        one ? `All ${one}. ` : "",
        budget ? `The limit is the token budget, ${number(budget)}. ` : `The model's window is ${number(size)}, of which ${number(reply)} are kept for the reply. `,
      ].join("")),
    ],
  };
}

/** How much of the prompt's beginning is that of the request before it. */
function reuse(leading, total) {
  if (!leading) return "None of its beginning is the same as last time: a provider has nothing to reuse.";
  const share = Math.floor((100 * leading) / Math.max(1, total));
  return `${number(leading)} of ${number(total)} tokens (${share} %) are the same as last time: a provider can reuse them.`;
}

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

/** @param {import("../state/state.js").Decision} receipt */
export function reported(receipt) {
  const said = receipt.reported ?? {};
  const rows = [
    ["Prompt", said.prompt, plural], ["Cached", said.cached, plural], ["Answer", said.completion, plural],
    ["First token", said.first_token_ms, (value) => `after ${duration(value)}`],
    ["Cost", said.cost, (value) => [dollars(value), " ", h("span", { class: "quiet" }, "estimated from list prices")]],
  ].filter(([, value]) => typeof value === "number");
  const { provider } = receipt;
  if (!rows.length && !provider) return null;
  return {
    data: [said, provider],
    draw: () => [
      h("h3", {}, "What the provider reported"),
      h("dl", { class: "facts" },
        provider && [h("dt", {}, "Model"), h("dd", {}, provider.label || provider.model)],
        rows.map(([words, value, as]) =>
          [h("dt", {}, words), h("dd", {}, as === plural ? plural(value, "token") : as(value))]).flat()),
      !rows.length && h("p", { class: "quiet" }, "No numbers yet."),
    ],
  };
}
