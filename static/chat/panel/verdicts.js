/** Every message with its verdict; neighbours with the same verdict are one row that opens. */

import { h, textButton } from "../elements/dom.js";
import { formatNumber, formatTime, joinParts, shorten } from "../state/format.js";
import { tokensTooMany } from "../state/state.js";
import { describeCall } from "../state/tool-calls.js";
import { say, sayCount } from "../words/say.js";
import { unseen } from "./table.js";
import { term } from "./terms.js";

/**
 * @import { Decision, Message, Verdict } from "../types/wire.js"
 * @import { Section } from "./panel.js"
 */

const LONGEST = 12;

/**
 * @param {Decision} decision
 * @param {Message[]} messages those that are loaded
 * @param {boolean} next
 * @param {{toMessage: (seq: number) => void, keepWhole: (seqs: number[], on: boolean) => void}} actions
 * @returns {Section}
 */
export function verdictsSection(decision, messages, next, { toMessage, keepWhole }) {
  // An empty draft is no message.
  const rows =
    decision.facts.draft === "empty"
      ? decision.verdicts.filter((one) => one.reason !== "current")
      : decision.verdicts;
  const last = messages.at(-1)?.seq ?? 0;
  const over = tokensTooMany(decision) > 0;
  const current = decision.verdicts.find((one) => one.reason === "current")?.first ?? 0;
  return {
    data: [rows, messages.length, last, next, over, decision.gave_way],
    draw: () => [
      h("h3", {}, term("verdicts", say("Each message"))),
      next && madeRoom(decision, keepWhole),
      h(
        "ul",
        { class: "fate" },
        rows.map((one, index) =>
          row(one, index, { messages, last, next, current, over, toMessage }),
        ),
      ),
    ],
  };
}

/**
 * What gave way, and the button that brings all of it back.
 * @param {Decision} decision
 * @param {(seqs: number[], on: boolean) => void} keepWhole
 */
function madeRoom({ gave_way: [count, freed] = [0, 0], verdicts }, keepWhole) {
  if (!count) return null;
  const seqs = verdicts
    .filter(({ reason }) => reason === "gave_way")
    .flatMap(({ first, last, spans = [[first, last]] }) => spans)
    .flatMap(([from, to]) => Array.from({ length: to - from + 1 }, (_, index) => from + index));
  return h(
    "p",
    { class: "quiet" },
    sayCount(
      "{count} result or file gave way, which freed {freed} tokens.",
      "{count} results and files gave way, which freed {freed} tokens.",
      count,
      { freed: formatNumber(freed) },
    ),
    " ",
    textButton(say("Send all of them whole"), () => keepWhole(seqs, true)),
  );
}

/**
 * What the rows share: the loaded messages with the last one's number, whether this is the next
 * request, the number of the message that it asks, and whether that is too long to be sent.
 * @typedef {{messages: Message[], last: number, next: boolean, current: number, over: boolean, toMessage: (seq: number) => void}} Shared
 */

/**
 * "quoted": sent as text before the current message, or before an earlier one, not in its place.
 * @param {Verdict} verdict
 * @param {number} current
 * @param {boolean} over
 */
function describeFate({ sent, quoted, before, reason }, current, over) {
  if (reason === "gave_way") return say("sent as a line");
  if (quoted)
    return before && before < current ? say("still sent as a quote") : say("sent as a quote");
  return sent ? (over ? say("needed") : say("sent")) : say("not sent");
}

/**
 * "1–3, 6–111": messages in between have a row of their own.
 * @param {Pick<Verdict, "first"|"last"|"spans">} place
 */
export const describePlace = ({ first, last, spans = [[first, last]] }) =>
  first <= 0
    ? ""
    : spans.map(([from, to]) => (from === to ? `${from}` : `${from}–${to}`)).join(", ");

/** @type {Record<string, string>} */
const ROLES = {
  system: say("system"),
  user: say("user"),
  assistant: say("assistant"),
  tool: say("tool"),
};

/**
 * @param {Verdict} verdict
 * @param {boolean} draft it isn't stored yet
 */
function describeRole({ reason, role, messages }, draft) {
  if (reason === "greeting") return say("greeting");
  if (draft) return say("draft");
  return role ? (ROLES[role] ?? role) : sayCount("{count} message", "{count} messages", messages);
}

/**
 * @param {Verdict} verdict
 * @param {number} index
 * @param {Shared} shared
 */
function row(verdict, index, shared) {
  const { messages, last, next, current, over } = shared;
  const { first, last: end, sent, quoted, sentence, tokens, basis } = verdict;
  const { spans = [[first, end]] } = verdict;
  const draft = next && first > last;
  const inside = messages.filter(
    ({ seq }) => first > 0 && spans.some(([from, to]) => from <= seq && seq <= to),
  );
  return h(
    "li",
    { class: quoted ? "q" : sent ? "" : "d" },
    h(
      "details",
      { "data-key": `${index}:${first}-${end}` },
      h(
        "summary",
        {},
        h("span", { class: "place" }, describePlace(verdict)),
        h("span", { class: "role" }, describeRole(verdict, draft)),
        h(
          "span",
          { class: "why" },
          h("b", {}, describeFate(verdict, current, over)),
          `: ${sentence}`,
        ),
        h(
          "span",
          { class: "n" },
          formatNumber(tokens),
          unseen(` ${say("tokens")}, ${BASES[basis] ?? basis}`),
        ),
      ),
      h("div", { class: "inside" }, contents(verdict, inside, draft, shared)),
    ),
  );
}

/**
 * @param {Verdict} verdict
 * @param {Message[]} inside
 * @param {boolean} draft
 * @param {Shared} shared
 */
function contents(verdict, inside, draft, { messages, current, toMessage }) {
  const code = h(
    "p",
    { class: "quiet" },
    say("Reason:"),
    " ",
    h("code", {}, verdict.reason),
    ". ",
    sayCount("{count} token", "{count} tokens", verdict.tokens),
    `, ${BASES[verdict.basis] ?? verdict.basis}.`,
  );
  if (draft)
    return [
      h(
        "p",
        {},
        verdict.reason === "current"
          ? say("What you are typing now.")
          : say("Stored with your first message."),
      ),
      code,
    ];
  if (verdict.first <= 0)
    return [h("p", {}, say("Stands before the conversation in every request.")), code];
  const shown = inside.slice(-LONGEST);
  const hidden = verdict.messages - shown.length;
  return [
    verdict.quoted &&
      h(
        "p",
        {},
        say("Not in its place: its text is sent as a quote directly before"),
        " ",
        quotedBefore(verdict, messages, current, toMessage),
      ),
    hidden > 0 &&
      textButton(
        sayCount(
          "{count} message further up: show it in the chat",
          "{count} messages further up: show them in the chat",
          hidden,
        ),
        () => toMessage(verdict.first),
      ),
    h(
      "ul",
      {},
      shown.map((message) =>
        h(
          "li",
          {},
          textButton(
            `${message.seq} ${message.speaker || (ROLES[message.role] ?? message.role)}`,
            () => toMessage(message.seq),
          ),
          ` ${shorten(describeContent(message))}`,
        ),
      ),
    ),
    code,
  ];
}

/** @type {Record<string, string>} */
const BASES = { counted: say("counted"), estimated: say("estimated"), reported: say("reported") };

/**
 * Which message the text stands before: for an earlier one with its time and a way to it.
 * @param {Verdict} verdict
 * @param {Message[]} messages
 * @param {number} current
 * @param {(seq: number) => void} toMessage
 */
function quotedBefore({ before }, messages, current, toMessage) {
  if (!before || before >= current) return [say("your message.")];
  const asked = messages.find(({ seq }) => seq === before);
  const when = asked?.created ? formatTime(asked.created) : "";
  const words = asked ? ` “${shorten(describeContent(asked), 60)}”` : "";
  return [
    when
      ? say("your earlier message of {time}, for which it was found:", { time: when })
      : say("your earlier message, for which it was found:"),
    " ",
    textButton(`${before}${words}`, () => toMessage(before)),
    say(". It stays there, so that the request keeps its beginning."),
  ];
}

/**
 * A message's text, its tool calls and its files.
 * @param {Message} message
 */
const describeContent = ({ content, calls, attachments }) =>
  joinParts([
    content,
    ...calls.map(describeCall),
    ...attachments.map(({ name }) => say("File: {name}", { name })),
  ]);
