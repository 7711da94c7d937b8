/** What is said of a model in a list. */

import { dollars, number } from "./format.js";

/**
 * A model as the server offers it. `name` is `provider:model` as commands say it, "" the agent's
 * own; `window` in tokens, `assumed` where nobody told it; `price` in US dollars for a million
 * tokens; `why_not`: why it can't be chosen now, or "". `looking`: servers on this machine are
 * still being asked.
 * @typedef {{name: string, label: string, window: number|null, assumed?: boolean,
 *   price: {prompt: number, cached: number|null, completion: number}|null, takes: string[],
 *   tools: boolean, why_not?: string}} Model
 * @typedef {{title: string, note?: string, models: Model[]}} Group
 * @typedef {{locked: string, own: string, looking?: boolean, groups: Group[]}} Offer
 * @typedef {{name: string, label: string}} Choice
 */

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
