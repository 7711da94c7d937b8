/** Parses Markdown here if that is quick, otherwise in the background. */

import { runInBackground } from "./background.js";
import { isQuick, parse } from "./blocks.js";
import { LONGEST } from "./plain.js";
import { say } from "../words/say.js";

/**
 * @import { Formatted, Unformatted } from "./blocks.js"
 * @typedef {Formatted|Unformatted} Parsed
 */

const FAILED = {
  slow: say("formatting it took too long."),
  impossible: say("formatting it isn't possible in this browser."),
};

/**
 * At once where that is quick, otherwise a promise. It never rejects, and stays open if nobody wants the text any more
 * when its turn comes.
 * @param {string} text
 * @param {() => boolean} wanted
 * @returns {Parsed|Promise<Parsed>}
 */
export function parseMarkdown(text, wanted) {
  if (text.length > LONGEST || isQuick(text)) return parse(text);
  return runInBackground({ text }, wanted).then((outcome) =>
    "result" in outcome
      ? /** @type {Parsed} */ (outcome.result)
      : { plain: FAILED[outcome.failed] },
  );
}
