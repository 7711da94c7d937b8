/** The facts of a model on one line of a list. Pure. */

import { dollars, number } from "./format.js";

/** @import { Model } from "../types/page.js" */

/** @type {Record<string, string>} */
const TAKES = { image: "images", pdf: "PDF", audio: "audio", video: "video" };

/**
 * "200,000 tokens · takes images, PDF; uses tools · $3 in, $15 out per million tokens".
 * @param {Model} model
 */
export function facts({ window: size, assumed, takes, tools, price }) {
  const taken = takes.map((one) => TAKES[one] ?? one).join(", ");
  const able = [taken ? `takes ${taken}` : "text only", tools ? "uses tools" : "no tools"].join(", ");
  return [
    size && `${number(size)} tokens${assumed ? " (assumed)" : ""}`,
    able,
    price && `${dollars(price.prompt)}\u00a0in, ${dollars(price.completion)}\u00a0out per million tokens`,
  ].filter(Boolean).join(" · ");
}
