/** The panel's sections that are made of a decision alone: facts, sources, parts, usage. */

import { h } from "./dom.js";
import { duration, number, plural } from "./format.js";

const SOURCES = ["environment", "URL", "template", "built in"];
const SETTINGS = { policy: "policy", length: "length", tokens: "token budget", low_water: "low-water mark" };
const PARTS = {
  system: "system", prefilled: "prefilled", tools: "tools", summary: "summary", recalled: "recalled",
  history: "history", current: "this message", reply: "kept for the reply", free: "free",
};
const LOSSES = { overruled: "overruled", locked: "locked", bad: "not valid", "not allowed": "not allowed" };

/** @param {import("./state.js").Decision} decision */
export function facts(decision) {
  const { facts: said, locked, lock_reason: reason } = decision;
  return {
    data: [said, locked, reason],
    draw: () => [
      h("dl", { class: "facts" },
        h("dt", {}, "Policy"), h("dd", {}, said.policy),
        h("dt", {}, "Length"), h("dd", {}, lengthWords(said)),
        h("dt", {}, "Source"), h("dd", {}, said.source, locked && " ", locked && h("span", { class: "lock" }, "locked")),
        h("dt", {}, "Messages"),
        h("dd", {}, `${number(said.stored)} in the conversation, ${number(said.sent)} sent`)),
      locked && reason && h("p", { class: "reason" }, reason),
    ],
  };
}

function lengthWords({ length, policy }) {
  if (!length) return h("span", { class: "quiet" }, `not used by ${policy}`);
  if (!/^\d+$/.test(length)) return `${length} user message`;
  return plural(Number(length), "user message");
}

/** @param {import("./state.js").Decision} decision */
export function settings(decision) {
  const rows = Object.entries(decision.settings);
  return {
    data: rows,
    draw: () => [
      h("h3", {}, "Where each setting came from"),
      h("div", { class: "scroll" },
        h("table", {},
          h("thead", {}, h("tr", {}, h("th", {}, h("span", { class: "hidden" }, "setting")),
            SOURCES.map((source) => h("th", { scope: "col" }, source)))),
          h("tbody", {}, rows.map(([name, setting]) =>
            h("tr", {}, h("th", { scope: "row" }, SETTINGS[name] ?? name),
              SOURCES.map((source) => h("td", {}, cells(setting, source)))))))),
      reasons(rows),
    ],
  };
}

/** What one source said of one setting; an environment may say it under two names. */
function cells(setting, source) {
  const said = setting.said.filter((one) => one.source === source && one.outcome !== "absent");
  if (!said.length) {
    const won = setting.source === source;
    return won ? h("span", { class: "win" }, shown(setting.value)) : h("span", { class: "none", "aria-label": "nothing" }, "–");
  }
  return said.map((one) => {
    // The built-in value has no text of its own where it is none.
    const value = one.raw ?? (one.outcome === "won" ? shown(setting.value) : "none");
    if (one.outcome === "won") return h("span", { class: "win" }, shown(value));
    const loss = LOSSES[one.outcome] ?? one.outcome;
    return h("span", { class: `lost ${one.outcome === "bad" ? "bad" : ""}`, title: one.why || loss },
      h("s", {}, shown(value)), h("span", { class: "hidden" }, ` (${loss})`));
  });
}

const shown = (value) => (value === null || value === undefined || value === "" ? "none" : String(value));

/** The same as the strokes in the table, as sentences. */
function reasons(rows) {
  const said = rows.flatMap(([name, setting]) =>
    setting.said.filter((one) => one.outcome in LOSSES && one.raw !== null && one.source !== "built in" && one.why)
      .map((one) => ({ ...one, setting: name })));
  const telling = said.filter((one) => one.outcome !== "overruled" || one.source !== "template");
  if (!telling.length) return null;
  return h("ul", { class: "reasons" }, telling.map((one) =>
    h("li", { class: one.outcome === "bad" ? "bad" : "" },
      h("b", {}, one.source, " "), h("code", {}, `${one.name}=${one.raw}`), ` ${LOSSES[one.outcome]}: ${one.why}`)));
}

/**
 * @param {import("./state.js").Decision} decision
 * @param {boolean} next
 */
export function parts(decision, next) {
  const { parts: all, prompt_tokens: total, limit, leading, budget, window: size, reply } = decision;
  // Within a budget the model's window is no measure: what is free is free of the budget.
  const measured = !budget || limit !== budget ? all : all.flatMap((part) => {
    if (part.name === "reply") return [];
    return [part.name === "free" ? { ...part, tokens: Math.max(0, limit - total) } : part];
  });
  const counted = measured.filter((part) => part.tokens > 0);
  const bases = new Set(counted.filter((part) => part.name !== "free" && part.name !== "reply").map((part) => part.basis));
  const one = bases.size === 1 ? [...bases][0] : null;
  return {
    data: [all, total, limit, leading, budget, size, reply, next],
    draw: () => [
      h("h3", {}, next ? "What would be sent" : "What was sent", h("small", {}, `${number(total)} of ${number(limit)} tokens`)),
      bar(counted),
      h("ul", { class: "key" }, counted.map((part) =>
        h("li", {}, h("i", { class: `seg-${part.name}` }), `${PARTS[part.name] ?? part.name} ${number(part.tokens)}`,
          !one && part.basis && part.name !== "free" && part.name !== "reply" && h("small", {}, ` ${part.basis}`)))),
      h("p", { class: "quiet" }, [
        one ? `All ${one}. ` : "",
        budget ? `The limit is the token budget, ${number(budget)}. ` : `The model's window is ${number(size)}, of which ${number(reply)} are kept for the reply. `,
        leading ? `The first ${number(leading)} tokens are those of the request before.` : "",
      ].join("")),
    ],
  };
}

function bar(all) {
  const total = all.reduce((sum, part) => sum + part.tokens, 0) || 1;
  return h("div", { class: "bar", "aria-hidden": "true" }, all.map((part) => {
    const piece = h("i", { class: `seg-${part.name}` });
    piece.style.width = `${(100 * part.tokens) / total}%`;
    return piece;
  }));
}

/** @param {import("./state.js").Decision} receipt */
export function reported(receipt) {
  const said = receipt.reported ?? {};
  const rows = [
    ["Prompt", said.prompt, plural], ["Cached", said.cached, plural], ["Answer", said.completion, plural],
    ["First token", said.first_token_ms, (value) => `after ${duration(value)}`],
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
