/** The facts of a model on one line of a list. Pure. */

import { formatDollars, formatNumber, joinParts } from "./format.js";
import { say } from "../words/say.js";

/** @import { Model } from "../types/page.js" */

/** @type {Record<string, string>} */
const TAKES = { image: say("images"), pdf: "PDF", audio: say("audio"), video: say("video") };

/**
 * What a model is chosen by: "images, PDF · $3.00 / $15.00", where it isn't the usual also "no tools".
 * @param {Model} model
 */
export const briefModel = ({ takes, tools, price }) =>
  joinParts([
    takes.length ? listTaken(takes) : say("text only"),
    !tools && say("no tools"),
    price && `${formatDollars(price.prompt)} / ${formatDollars(price.completion)}`,
  ]);

/** @param {string[]} takes */
const listTaken = (takes) => takes.map((one) => TAKES[one] ?? one).join(", ");

/**
 * "OpenAI · 200,000 tokens · takes images, PDF, uses tools · $3.00 in, $15.00 out per million tokens".
 * @param {Model} model
 */
export function describeModel({ server, window: size, assumed, takes, tools, price }) {
  const able = [
    takes.length ? say("takes {taken}", { taken: listTaken(takes) }) : say("text only"),
    tools ? say("uses tools") : say("no tools"),
  ].join(", ");
  return joinParts([
    server,
    size &&
      (assumed
        ? say("{size} tokens (assumed)", { size: formatNumber(size) })
        : say("{size} tokens", { size: formatNumber(size) })),
    able,
    price &&
      say("{prompt} in, {completion} out per million tokens", {
        prompt: formatDollars(price.prompt),
        completion: formatDollars(price.completion),
      }),
  ]);
}
