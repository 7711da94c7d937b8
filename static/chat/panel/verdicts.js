/** Every message with its verdict; neighbours with the same verdict are one row that opens. */

import { h } from "../elements/dom.js";
import { formatNumber, formatTime, plural, shorten } from "../state/format.js";
import { describeCall } from "../state/tool-calls.js";

/**
 * @import { Decision, Message, Verdict } from "../types/wire.js"
 * @import { Section } from "./panel.js"
 */

const LONGEST = 12;

/**
 * @param {Decision} decision
 * @param {Message[]} messages those that are loaded
 * @param {boolean} next
 * @param {(seq: number) => void} toMessage
 * @returns {Section}
 */
export function verdictsSection(decision, messages, next, toMessage) {
  // An empty draft is no message.
  const rows = decision.facts.draft === "empty" ? decision.verdicts.filter((one) => one.reason !== "current") : decision.verdicts;
  const last = messages.at(-1)?.seq ?? 0;
  const current = decision.verdicts.find((one) => one.reason === "current")?.first ?? 0;
  return {
    data: [rows, messages.length, last, next],
    draw: () => [
      h("h3", {}, "Each message", h("small", {}, next ? "as it would be sent" : "as it was sent", ", oldest first")),
      h("ul", { class: "fate" }, rows.map((one, index) => row(one, index, { messages, last, next, current, toMessage }))),
    ],
  };
}

/**
 * What the rows share: the loaded messages with the last one's number, whether this is the next
 * request, and the number of the message that it asks.
 * @typedef {{messages: Message[], last: number, next: boolean, current: number, toMessage: (seq: number) => void}} Shared
 */

/**
 * "quoted": sent as text before the current message, or before an earlier one, not in its place.
 * @param {Verdict} verdict
 * @param {number} current
 */
function describeFate({ sent, quoted, before }, current) {
  if (quoted) return before && before < current ? "still quoted" : "quoted";
  return sent ? "sent" : "left out";
}

/**
 * @param {Verdict} verdict
 * @param {number} index
 * @param {Shared} shared
 */
function row(verdict, index, shared) {
  const { messages, last, next, current } = shared;
  const { first, last: end, sent, quoted, sentence, tokens, basis } = verdict;
  const place = first <= 0 ? "" : first === end ? `${first}` : `${first}–${end}`;
  const draft = next && first > last;
  const who = draft ? (verdict.reason === "current" ? "draft" : "greeting") : verdict.role ?? plural(verdict.messages, "message");
  const inside = messages.filter((message) => first > 0 && first <= message.seq && message.seq <= end);
  return h("li", { class: quoted ? "q" : sent ? "" : "d" },
    h("details", { "data-key": `${index}:${first}-${end}` },
      h("summary", {},
        h("span", { class: "place" }, place),
        h("span", { class: "role" }, who),
        h("span", { class: "why" }, h("b", {}, describeFate(verdict, current)), `: ${sentence}`),
        h("span", { class: "n" }, formatNumber(tokens), h("span", { class: "hidden" }, ` tokens, ${basis}`))),
      h("div", { class: "inside" }, contents(verdict, inside, draft, shared))));
}

/**
 * @param {Verdict} verdict
 * @param {Message[]} inside
 * @param {boolean} draft
 * @param {Shared} shared
 */
function contents(verdict, inside, draft, { messages, current, toMessage }) {
  const code = h("p", { class: "quiet" }, "Reason: ", h("code", {}, verdict.reason), `. ${plural(verdict.tokens, "token")}, ${verdict.basis}.`);
  if (draft) return [h("p", {}, verdict.reason === "current" ? "What you type now." : "Stored with your first message."), code];
  if (verdict.first <= 0) return [h("p", {}, "Stands before the conversation in every request."), code];
  const shown = inside.slice(-LONGEST);
  const hidden = verdict.messages - shown.length;
  return [
    verdict.quoted && h("p", {}, "Not in its place: its text is quoted directly before ", quotedBefore(verdict, messages, current, toMessage)),
    hidden > 0 && h("p", { class: "quiet" }, `${plural(hidden, "message")} further up.`),
    h("ul", {}, shown.map((message) =>
      h("li", {},
        h("button", { type: "button", class: "link", on: { click: () => toMessage(message.seq) } }, `${message.seq} ${message.role}`),
        ` ${shorten(describeContent(message))}`))),
    code,
  ];
}

/**
 * Which message the text stands before: for an earlier one with its time and a way to it.
 * @param {Verdict} verdict
 * @param {Message[]} messages
 * @param {number} current
 * @param {(seq: number) => void} toMessage
 */
function quotedBefore({ before }, messages, current, toMessage) {
  if (!before || before >= current) return ["your message."];
  const asked = messages.find(({ seq }) => seq === before);
  const when = asked?.created ? ` of ${formatTime(asked.created)}` : "";
  const words = asked ? ` “${shorten(describeContent(asked), 60)}”` : "";
  return [
    `your earlier message${when}, for which it was found: `,
    h("button", { type: "button", class: "link", on: { click: () => toMessage(before) } }, `${before}${words}`),
    ". It stays there, so that the request keeps its beginning.",
  ];
}

/**
 * A message's text, its tool calls and its files.
 * @param {Message} message
 */
const describeContent = ({ content, calls, attachments }) =>
  [content, ...calls.map(describeCall), ...attachments.map(({ name }) => `File: ${name}`)].filter(Boolean).join(" · ");
