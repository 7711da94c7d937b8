/**
 * A model's Markdown as nodes. DOMPurify is the last step; afterwards only nodes are touched.
 * HTML in the text is shown as text, and nothing in it can cause a request: no images, no media.
 */

import DOMPurify from "../../vendor/dompurify/purify.es.mjs";
import { Marked } from "../../vendor/marked/marked.esm.js";
import { h } from "../elements/dom.js";
import { decorateCode } from "./code.js";

/** @import { Token } from "../../vendor/marked/marked.esm.js" */

const ALLOWED = {
  ALLOWED_TAGS: [
    "p", "br", "strong", "em", "del", "code", "pre", "blockquote", "ul", "ol", "li", "hr", "a",
    "h3", "h4", "h5", "h6", "table", "thead", "tbody", "tr", "th", "td",
  ],
  ALLOWED_ATTR: ["href", "title", "class", "align", "start"],
  ALLOW_DATA_ATTR: false,
  ALLOW_ARIA_ATTR: false,
  RETURN_DOM_FRAGMENT: /** @type {const} */ (true),
};
const LINKS = /^(?:https?:\/\/|mailto:)/i;

/** @type {Record<string, string>} */
const ESCAPES = { "&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;", "'": "&#39;" };

/** @param {string} text */
const escape = (text) => text.replace(/[&<>"']/g, (character) => ESCAPES[character]);

/**
 * The host of a link, as people see it: "example.org", or the address itself.
 * @param {string} href
 */
function host(href) {
  try {
    const url = new URL(href);
    return url.host || url.pathname;
  } catch {
    return href;
  }
}

const marked = new Marked({
  gfm: true,
  breaks: true,
  renderer: {
    // The page has its own headings above these.
    heading({ tokens, depth }) {
      const level = Math.min(depth + 2, 6);
      return `<h${level}>${this.parser.parseInline(tokens)}</h${level}>\n`;
    },
    html({ text, block }) {
      return block ? `<p>${escape(text.trim())}</p>\n` : escape(text);
    },
    image({ href, text }) {
      const label = escape(`Image: ${text || "without a description"} (${host(href)})`);
      return `<a href="${escape(href)}">${label}</a>`;
    },
    checkbox({ checked }) {
      return checked ? "☑ " : "☐ ";
    },
  },
});

/**
 * The blocks of a Markdown text, each with the `raw` text it came from.
 * @param {string} text
 * @returns {Token[]}
 */
export const parseBlocks = (text) => marked.lexer(text);

/**
 * @param {Token[]} tokens from `blocks`
 * @param {{streaming?: boolean}} [options] streaming leaves the colouring of code for later
 * @returns {DocumentFragment}
 */
export function renderBlocks(tokens, { streaming = false } = {}) {
  const fragment = DOMPurify.sanitize(marked.parser(tokens), ALLOWED);
  // Of all classes only the one that names a code block's language means something here.
  for (const element of fragment.querySelectorAll("[class]:not(pre > code)")) element.removeAttribute("class");
  for (const link of fragment.querySelectorAll("a")) secureLink(link);
  for (const table of fragment.querySelectorAll("table")) {
    const frame = h("div", { class: "table", tabindex: "0", role: "group", "aria-label": "Table" });
    table.replaceWith(frame);
    frame.append(table);
  }
  for (const pre of fragment.querySelectorAll("pre")) decorateCode(pre, { colour: !streaming });
  return fragment;
}

/** @param {string} text */
export const render = (text) => renderBlocks(parseBlocks(text));

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
