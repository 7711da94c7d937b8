/** Parses Markdown and colours code beside the page, which ends this worker when something takes too long. */

import { parse } from "./blocks.js";

/**
 * @import { Task } from "./background.js"
 * @typedef {{highlight: (code: string, options: {language: string, ignoreIllegals: boolean}) => {value: string},
 *   registerLanguage: (name: string, language: unknown) => void}} Highlighter what is used of highlight.js
 */

addEventListener("message", async ({ data }) => {
  const work = await prepare(data);
  // The page's clock starts with this, not while modules are being loaded.
  postMessage({ begun: true });
  postMessage({ result: work() });
});

/** @param {Task} task */
async function prepare(task) {
  if ("text" in task) return () => parse(task.text);
  const { code, language, modules } = task;
  // Imported once, however often they are asked for.
  const [core, grammar] = await Promise.all(modules.map((address) => import(address)));
  /** @type {Highlighter} */
  const highlighter = core.default;
  highlighter.registerLanguage(language, grammar.default);
  return () => highlighter.highlight(code, { language, ignoreIllegals: true }).value;
}
