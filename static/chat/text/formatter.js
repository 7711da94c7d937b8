/** All that formats Markdown, which `formatting.js` loads when it is needed. */

import { setWorker } from "./background.js";
import { setHighlighter } from "./code.js";
import { setMaths } from "./maths.js";

/** @import { StaticFiles } from "../types/page.js" */

export { linkFootnotes } from "./footnote-links.js";
export { drawBlock, renderBlocks } from "./markdown.js";
export { parseMarkdown } from "./parser.js";

/** @param {StaticFiles} files */
export function setFiles({ highlight = {}, maths, worker = "" }) {
  setHighlighter(highlight);
  setMaths(maths);
  setWorker(worker);
}
