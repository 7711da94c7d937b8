/** How many exchanges a request has, in words. An exchange is a message with what answers it. Pure. */

import { formatNumber, joinParts } from "./format.js";
import { say, sayCount } from "../words/say.js";

/** @import { Decision, Receipt } from "../types/wire.js" */

/**
 * "19 of 47 exchanges + 1 pinned", "all 3 exchanges"; "" where there are none yet, or the receipt doesn't say.
 * @param {Pick<Decision, "exchanges">} decision
 */
export function describeExchanges({ exchanges }) {
  if (!exchanges?.stored) return "";
  const { stored, sent, pinned, older } = exchanges;
  const counted = sayCount("{count} exchange", "{count} exchanges", stored);
  const whole =
    stored === 1 ? counted : say("all {count} exchanges", { count: formatNumber(stored) });
  const words =
    sent === stored
      ? whole
      : say("{sent} of {exchanges}", { sent: formatNumber(sent), exchanges: counted });
  const more = [
    pinned > 0 && say("{count} pinned", { count: formatNumber(pinned) }),
    older > 0 && say("{count} older", { count: formatNumber(older) }),
  ];
  return joinParts([words, ...more], " + ");
}

/**
 * How many exchanges aren't sent, for whatever reason.
 * @param {Decision|Receipt|null} decision
 */
export function countLeftOut(decision) {
  const counted = decision?.exchanges ?? [0, 0, 0, 0];
  const [stored, sent, pinned, older] = Array.isArray(counted)
    ? counted
    : [counted.stored, counted.sent, counted.pinned, counted.older];
  return Math.max(0, stored - sent - pinned - older);
}
