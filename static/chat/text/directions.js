/** The writing direction of each block: an Arabic paragraph below an English one runs from right to left. */

// What is read from right to left, Hebrew to Adlam, and the marks that say so; then any letter and mark.
export const RIGHT_TO_LEFT =
  /[\u200f\u061c\u0590-\u08ff\ufb1d-\ufdfd\ufe70-\ufefc\u{10800}-\u{10fff}\u{1e800}-\u{1efff}]/u;
const LETTER = /[\p{L}\u200e\u200f\u061c]/u;

/**
 * `dir="auto"` can't say it: an element doesn't look into those inside it that have a direction of their own.
 * @param {DocumentFragment} fragment
 */
export function setDirections(fragment) {
  if (!RIGHT_TO_LEFT.test(fragment.textContent ?? "")) return;
  for (const block of fragment.querySelectorAll(
    "p, li, ul, ol, h3, h4, h5, h6, blockquote, table, th, td",
  )) {
    const direction = directionOf(block);
    if (direction) block.setAttribute("dir", direction);
  }
}

/**
 * That of its first letter; "" where it has none.
 * @param {Element} block
 */
function directionOf(block) {
  const texts = document.createTreeWalker(block, NodeFilter.SHOW_TEXT);
  for (let node = texts.nextNode(); node; node = texts.nextNode()) {
    const letter = LETTER.exec(node.nodeValue ?? "")?.[0];
    // Code and formulas are always left to right, and say nothing about the words around them.
    if (letter && !node.parentElement?.closest("code, pre, .formula"))
      return RIGHT_TO_LEFT.test(letter) ? "rtl" : "ltr";
  }
  return "";
}
