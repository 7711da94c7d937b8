/** What the words of the panel mean: a word with a dotted line opens its explanation in place. */

import { h } from "../elements/dom.js";
import { Popover } from "../elements/popover.js";
import { say } from "../words/say.js";

/** @type {Record<string, string>} by the name of the word */
const MEANINGS = {
  policy: say("The rule that chooses which messages are sent to the model. It never changes or deletes what is stored."),
  length: say("How many of your messages are sent, the new one included, each with the replies to it."),
  source: say("Where the policy comes from: the server's environment, the link, this chat, the agent, or the default."),
  messages: say("Messages stored in this chat, and how many of them are sent. What you are typing isn't one of them."),
  sources: say("The first source from the left that sets a value wins. A value that is struck through is overridden or ignored."),
  "low-water mark": say("When the limit is exceeded, old exchanges are dropped until this share of it is left. The beginning then stays the same for a while, so that a provider's cache can serve it."),
  "token budget": say("The most tokens that a request may have. Without one the model's window is the limit."),
  step: say("The cut moves by this many messages at a time, so that the beginning of the request stays the same in between."),
  selector: say("How older messages are found: by keyword, or by asking a fast model."),
  "share for quotes": say("How much of the limit older messages may take that are sent as quotes."),
  system: say("The agent's instructions. They are sent first with every request."),
  prefilled: say("Example exchanges of the agent. They are sent with every request and aren't part of the chat."),
  tools: say("The descriptions of the tools that the model may call."),
  summary: say("A running summary that is sent instead of the messages that it covers."),
  recalled: say("Older messages that match your message. They are sent as quotes directly before it."),
  strategy: say("Text that the agent's own strategy adds."),
  reply: say("Room in the model's window that is kept free for its answer."),
  free: say("Room that nothing takes. More of the chat could be sent before anything has to be left out."),
  unchanged: say("Tokens at the beginning that are the same as in the request before. Many providers serve them from a cache, faster and for a tenth of the price."),
  cacheable: say("How much of the request's beginning would be the same as in the request before, so that the provider may serve it from its cache."),
  tokens: say("Models read text in tokens, pieces of about four letters. Providers charge by the token."),
  verdicts: say("What becomes of each message, and why. Neighbours with the same reason are one row."),
  searched: say("How many older messages were searched for what your message is about."),
  matches: say("Older messages that were found to match your message."),
  added: say("Messages that were put into the search index for this turn."),
  cells: say("The model on this machine keeps what it has read in cells, one for each token. What lies there need not be read again."),
  cached: say("Tokens that the provider served from its cache, as it reported."),
};

/**
 * A word with its explanation, or the word alone where there is none.
 * @param {string} name in the table
 * @param {string} [words]
 */
export function term(name, words = name) {
  const meaning = MEANINGS[name];
  if (!meaning) return words;
  const button = h("button", {
    type: "button", class: "term", "data-key": `term-${name}`, "aria-haspopup": "dialog", "aria-expanded": "false",
    title: say("What does this mean?"),
  }, words);
  const place = h("span", { class: "term-place" }, button);
  new Popover(button, {
    label: words, class: "term-pop", free: true,
    fill: (box) => box.replaceChildren(h("p", {}, meaning)),
  });
  return place;
}
