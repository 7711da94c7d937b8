/**
 * A model's Markdown as nodes. DOMPurify is the last step; afterwards only nodes are touched.
 * HTML in the text is shown as text, but for the few tags of `grammar/tags.js`, and nothing in it can cause a request:
 * no images, no media.
 */

import DOMPurify from "../../vendor/dompurify/purify.es.mjs";
import { h } from "../elements/dom.js";
import { decorateCode } from "./code.js";
import { setDirections } from "./directions.js";
import { writeFootnotes } from "./footnote-links.js";
import { drawFormulas } from "./maths.js";
import { tableBar } from "../preview/table-bar.js";
import { say } from "../words/say.js";

/**
 * @import { Block } from "./blocks.js"
 * @typedef {{html: string, nodes: ChildNode[]}} Drawn a block with what it became in the page
 */

const ALLOWED = {
  ALLOWED_TAGS: [
    ...["p", "br", "strong", "em", "del", "code", "pre", "blockquote", "ul", "ol", "li", "hr", "a"],
    ...["h3", "h4", "h5", "h6", "table", "thead", "tbody", "tr", "th", "td"],
    ...["sub", "sup", "kbd", "mark"],
  ],
  ALLOWED_ATTR: ["href", "title", "class", "align", "start"],
  ALLOW_DATA_ATTR: false,
  ALLOW_ARIA_ATTR: false,
  RETURN_DOM_FRAGMENT: /** @type {const} */ (true),
};
const BOX = /^\s*[☐☑]/;
const LINKS = /^(?:https?:\/\/|mailto:)/i;

/**
 * @param {Block[]} blocks
 * @param {{streaming?: boolean}} [options] streaming leaves the colouring of code for later
 * @returns {DocumentFragment}
 */
export function renderBlocks(blocks, { streaming = false } = {}) {
  const fragment = DOMPurify.sanitize(blocks.map(({ html }) => html).join(""), ALLOWED);
  drawFormulas(fragment);
  writeFootnotes(fragment);
  // Of all classes only the one that names a code block's language means something here.
  for (const element of fragment.querySelectorAll(
    "[class]:not(pre > code, .formula, .formula *, span)",
  ))
    element.removeAttribute("class");
  for (const link of fragment.querySelectorAll("a")) secureLink(link);
  for (const item of fragment.querySelectorAll("li"))
    if (BOX.test(item.textContent ?? "")) item.classList.add("task");
  setDirections(fragment);
  for (const table of fragment.querySelectorAll("table")) {
    const frame = h("div", {
      class: "table",
      tabindex: "0",
      role: "group",
      "aria-label": say("Table"),
      dir: table.dir || false,
    });
    table.replaceWith(frame);
    frame.append(table);
    frame.after(tableBar(table));
  }
  for (const pre of fragment.querySelectorAll("pre")) decorateCode(pre, { colour: !streaming });
  return fragment;
}

/**
 * @param {Block} block
 * @returns {Drawn}
 */
export const drawBlock = (block) => ({
  html: block.html,
  nodes: [...renderBlocks([block]).childNodes],
});

/** @param {HTMLAnchorElement} link */
function secureLink(link) {
  const href = link.getAttribute("href") ?? "";
  if (!LINKS.test(href)) {
    link.removeAttribute("href");
    return;
  }
  link.target = "_blank";
  link.rel = "noopener noreferrer nofollow";
  link.title = href;
}
