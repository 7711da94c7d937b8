/** What the words of the panel mean: a word with a dotted line opens its explanation in place. */

import { h } from "../elements/dom.js";
import { Popover } from "../elements/popover.js";
import { say } from "../words/say.js";

/** @type {Record<string, string>} by the name of the word */
const MEANINGS = {
  policy: say(
    "The rule that chooses which messages are sent to the model. It never changes or deletes what is stored.",
  ),
  length: say(
    "How many exchanges are sent: messages of yours, the new one included, each with the answer to it.",
  ),
  source: say(
    "Where the policy comes from: the server's environment, the link, this chat, the agent, or the default.",
  ),
  messages: say(
    "Messages stored in this chat, and how many of them are sent. What you are typing isn't one of them.",
  ),
  sources: say(
    "The first source from the left that sets a value wins. A value that is struck through is overridden or ignored.",
  ),
  system: say("The agent's instructions. They are sent first with every request."),
  own: say(
    "What you tell every agent. It is sent with every request, after the agent's own instructions.",
  ),
  prefilled: say(
    "Example exchanges of the agent. They are sent with every request and aren't part of the chat.",
  ),
  tools: say("The descriptions of the tools that the model may call."),
  instructions: say(
    "Instructions of yours that you keep in force. They are sent with every message, until you end them.",
  ),
  summary: say("A running summary that is sent instead of the messages that it covers."),
  history: say("Earlier messages of this chat that are sent in their place."),
  current: say("The message that the model answers; before it is sent, what you are typing."),
  recalled: say(
    "Older messages that match your message. They are sent as quotes directly before it.",
  ),
  notes: say("Lines that tell the model the day, and how much of the chat it isn't shown."),
  strategy: say("Text that the agent's own strategy adds."),
  reply: say("Room in the model's window that is kept free for its answer."),
  free: say(
    "Room that nothing takes. More of the chat could be sent before anything has to be left out.",
  ),
  unchanged: say(
    "Tokens at the beginning that are the same as in the request before. Many providers serve them from a cache, faster and for a tenth of the price.",
  ),
  cacheable: say(
    "How much of the request's beginning would be the same as in the request before, so that the provider may serve it from its cache.",
  ),
  tokens: say(
    "Models read text in tokens, pieces of about four letters. Providers charge by the token.",
  ),
  verdicts: say(
    "What becomes of each message, and why. Neighbours with the same reason are one row.",
  ),
  searched: say("How many older messages were searched for what your message is about."),
  matches: say("Older messages that were found to match your message."),
  added: say("Messages that were put into the search index for this turn."),
  vectors: say(
    "The embedding model that compared meanings. None: messages are found by their words alone.",
  ),
  milliseconds: say("How long choosing the messages took, before the request was sent."),
  result: say(
    "How the selection ended. Where no choice could be made, everything that was looked at is sent.",
  ),
  asked_model: say("The fast model that chooses which older messages are sent."),
  asked: say("Whether the fast model was asked. A short chat is sent whole, without asking."),
  candidates: say(
    "Older turns that the fast model could choose from. A turn is a message of yours with the replies to it.",
  ),
  chosen: say("Turns that the fast model chose."),
  estimated_prompt: say(
    "Tokens of the question to the fast model, as estimated before it was asked.",
  ),
  file: say("The agent's own program that chose what is sent."),
  slots: say(
    "The parts that the agent's own program made, in the order they are sent, with their messages.",
  ),
  calls: say("Requests to a model for this summary."),
  used_tokens: say("Tokens read and written for this summary, as the provider reported."),
  seconds: say("How long writing the summary took."),
  shortened: say("Whether the summary had to be cut to the room that it has."),
  by: say("The model that wrote the summary."),
  compared: say("How many stored messages this policy would send. Your draft isn't counted."),
  tools_left_out: say(
    "Tool calls whose results wouldn't be sent, and how many would be sent shortened.",
  ),
  cost: say(
    "What the request would cost or has cost, by the provider's list prices. The answer is counted only once it is written.",
  ),
  model: say("The model that answered."),
  counted: say("Tokens of the request, as counted here before it was sent."),
  prompt: say(
    "Tokens of the request that the model read, as its provider reported. Its own counting may differ a little from ours.",
  ),
  completion: say("Tokens that the model wrote, as its provider reported."),
  first: say("How long after the request was sent the first piece of the answer came."),
  session: say(
    "Where the cells of this chat are: in the engine, or saved on the disk until the next message.",
  ),
  cleanup: say("What leaves the cells when they are full."),
  reused: say("Tokens that were in the cells already, so that the model didn't have to read them."),
  read: say("Tokens that the model had to read for this turn."),
  turn: say("A message of yours with the answer to it, numbered from the start of the chat."),
  origin: say(
    "Where the cells came from that the turn began with: the engine's memory, the disk, or another chat that begins in the same way.",
  ),
  cells: say(
    "The model on this machine keeps what it has read in cells, one for each token. What lies there need not be read again.",
  ),
  cached: say("Tokens that the provider served from its cache, as it reported."),
};

/**
 * A word with its explanation, or the word alone where there is none.
 * @param {string} name in the table
 * @param {string} [words]
 * @param {string} [meaning] the explanation of what isn't in the table
 */
export function term(name, words = name, meaning = MEANINGS[name]) {
  if (!meaning) return words;
  const button = h(
    "button",
    {
      type: "button",
      class: "term",
      "data-key": `term-${name}`,
      title: meaning,
    },
    words,
  );
  const place = h("span", { class: "term-place" }, button);
  new Popover(button, {
    label: words,
    class: "term-pop",
    free: true,
    fill: (box) => box.replaceChildren(h("p", {}, meaning)),
  });
  return place;
}
