/** The facts of a model on one line of a list. Pure. */

import { formatDollars, formatNumber } from "./format.js";

/** @import { Model } from "../types/page.js" */

/** @type {Record<string, string>} */
const TAKES = { image: "images", pdf: "PDF", audio: "audio", video: "video" };

/**
 * "200,000 tokens · takes images, PDF, uses tools · $3.00 in, $15.00 out per million tokens".
 * @param {Model} model
 */
export function describeModel({ window: size, assumed, takes, tools, price }) {
  const taken = takes.map((one) => TAKES[one] ?? one).join(", ");
  const able = [taken ? `takes ${taken}` : "text only", tools ? "uses tools" : "no tools"].join(", ");
  return [
    size && `${formatNumber(size)} tokens${assumed ? " (assumed)" : ""}`,
    able,
    price && `${formatDollars(price.prompt)}\u00a0in, ${formatDollars(price.completion)}\u00a0out per million tokens`,
  ].filter(Boolean).join(" · ");
}
