/** What the next message would cost, in words. Pure. */

import { say } from "../words/say.js";
import { formatDollars } from "./format.js";

/** @import { Costs, NextPrice } from "../types/wire.js" */

/** @type {Record<string, string>} what most of a price is for */
const PARTS = {
  answer: say("the answer"),
  agent: say("the agent’s instructions"),
  tools: say("the descriptions of tools"),
  results: say("the results of tools"),
  files: say("your files"),
  earlier: say("earlier messages"),
  current: say("what you have written"),
};

/**
 * "$0.0040 to $0.011"; where the cache isn't in doubt, one number.
 * @param {number} low in US dollars
 * @param {number} high
 */
function range(low, high) {
  const [least, most] = [formatDollars(low), formatDollars(high)];
  return least === most ? most : say("{least} to {most}", { least, most });
}

/**
 * "about $0.0040 to $0.011", with an answer like the last ones; where there were none, without one.
 * @param {NextPrice} price
 */
export function describePrice({ low, high, answer }) {
  const price = range(low, high);
  return answer === null
    ? say("about {price} plus the answer", { price })
    : say("about {price}", { price });
}

/**
 * "It would cost about $0.0040 to $0.011, mostly earlier messages.", and what that is made of, a sentence each.
 * @param {NextPrice} price
 */
export function describeWhole(price) {
  const { low, high, answer, part } = price;
  const words = { price: describePrice(price), part: PARTS[part] ?? "" };
  return [
    part
      ? say("It would cost {price}, mostly {part}.", words)
      : say("It would cost {price}.", words),
    answer !== null &&
      say(
        "{prompt} of that is for what is sent, and {answer} for an answer as long as the last ones.",
        {
          prompt: range(low - answer, high - answer),
          answer: formatDollars(answer),
        },
      ),
    formatDollars(low) !== formatDollars(high) &&
      say("The lower price applies if the provider still has the beginning in its cache."),
    say("Estimated from list prices."),
  ]
    .filter(Boolean)
    .join(" ");
}

/**
 * The question before a message is sent.
 * @param {Costs} costs
 */
export function describeCosts({ price, spent }) {
  const words = { price: describePrice(price), part: PARTS[price.part] ?? "" };
  return [
    spent !== null &&
      say("Today's answers have cost about {spent} so far.", { spent: formatDollars(spent) }),
    price.part
      ? say("This message costs {price}, mostly {part}.", words)
      : say("This message costs {price}.", words),
  ]
    .filter(Boolean)
    .join(" ");
}
