/**
 * What formats Markdown is a third of the page's script, and an empty chat needs none of it: it is loaded when somebody
 * begins to write, or when a text is there. Until it has come, a text stands as it was written.
 */

import { say } from "../words/say.js";

/**
 * @import { Parsed } from "./parser.js"
 * @import { StaticFiles } from "../types/page.js"
 */

/** @typedef {typeof import("./formatter.js")} Formatter */

const NOT_LOADED = say("what formats it couldn't be loaded. Reload the page to try again.");

/** @type {StaticFiles|null} */
let files = null;
/** @type {Formatter|null} */
let formatter = null;
/** @type {Promise<Formatter|null>|null} */
let loading = null;

/** @param {StaticFiles} addresses of what colours code, draws formulas and parses long texts */
export function setFormatting(addresses) {
  files = addresses;
}

/** Never rejects: null where it can't be loaded now; the next text tries again. */
export function loadFormatter() {
  loading ??= load();
  return loading;
}

async function load() {
  try {
    const loaded = await import("./formatter.js");
    if (files) loaded.setFiles(files);
    formatter = loaded;
  } catch {
    // The browser is offline, or the server has a newer version of these files.
    loading = null;
  }
  return formatter;
}

/** Whether what formats a text is there already. */
export const canFormat = () => formatter !== null;

/** What made the blocks of a text, and draws them: it is there once a text was parsed. */
export const drawing = () => /** @type {NonNullable<typeof formatter>} */ (formatter);

/**
 * At once where that is quick, otherwise a promise. It never rejects, and stays open if nobody wants the text any more
 * when its turn comes.
 * @param {string} text
 * @param {() => boolean} wanted
 * @returns {Parsed|Promise<Parsed>}
 */
export function parseMarkdown(text, wanted) {
  if (formatter) return formatter.parseMarkdown(text, wanted);
  return loadFormatter().then((found) =>
    found ? found.parseMarkdown(text, wanted) : { plain: NOT_LOADED },
  );
}
