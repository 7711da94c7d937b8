/** What the next message would cost, in words. */

import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { describeCosts, describePrice, describeWhole } from "../../static/chat/state/price.js";

const PRICE = { low: 0.004, high: 0.0111, answer: 0.001, part: "earlier" };
const FIRST = { low: 0.0042, high: 0.0042, answer: null, part: "" };

describe("a price", () => {
  it("is a range where the cache is in doubt, in two digits", () => {
    assert.equal(describePrice(PRICE), "about $0.0040 to $0.011");
  });

  it("is one number where both read the same", () => {
    assert.equal(describePrice({ ...PRICE, low: 0.01111 }), "about $0.011");
  });

  it("leaves out an answer of which nobody knows how long it will be", () => {
    assert.equal(describePrice(FIRST), "about $0.0042 plus the answer");
  });

  it("says what it is for and made of, and that it is estimated", () => {
    assert.equal(
      describeWhole(PRICE),
      "It would cost about $0.0040 to $0.011, mostly earlier messages. $0.0030 to $0.010 of that is for what is " +
        "sent, and $0.0010 for an answer as long as the last ones. The lower price applies if the provider still has the " +
        "beginning in its cache. Estimated from list prices.",
    );
    assert.equal(
      describeWhole(FIRST),
      "It would cost about $0.0042 plus the answer. Estimated from list prices.",
    );
  });
});

describe("the question", () => {
  it("says the price and what most of it is for", () => {
    const price = { low: 0.12, high: 0.12, answer: 0.01, part: "results" };
    assert.equal(
      describeCosts({ price, spent: null, cheaper: null }),
      "This message costs about $0.12, mostly the results of tools.",
    );
  });

  it("says what the day has cost where that is why", () => {
    assert.equal(
      describeCosts({ price: { ...PRICE, part: "" }, spent: 1.957, cheaper: null }),
      "Today's answers have cost about $1.96 so far. This message costs about $0.0040 to $0.011.",
    );
  });
});
