/**
 * Keeps what is being read where it is in the window, whatever grows, shrinks or moves above it: older messages, formulas
 * and pictures that come late, the line that moves, rows that get their real height as they come near. Browsers' own
 * scroll anchoring does nothing at the very top, and some have none.
 */

// The row, the answer's step, its text, a list, an item of it.
const DEEPEST = 6;

export class ReadingPlace {
  /**
   * @param {HTMLElement} log what scrolls
   * @param {HTMLElement} column what holds the rows
   */
  constructor(log, column) {
    this.log = log;
    this.column = column;
    this.scrolled = 0;
    /** @type {{element: Element|Range, top: number}[]} what was at the window's upper edge, from the row inwards */
    this.held = [];
  }

  /** Remembers what is at the window's upper edge now. */
  note() {
    const { top } = this.log.getBoundingClientRect();
    this.scrolled = this.log.scrollTop;
    this.held = [];
    /** @type {Element|null} */
    let element = firstRow(this.column, top);
    while (element && this.held.length < DEEPEST) {
      /** @type {number} */
      const place = element.getBoundingClientRect().top - top;
      this.held.push({ element, top: place });
      element = place < 0 ? firstPart(element, top) : null;
    }
  }

  /**
   * Remembers an element that is to stay where it is, for example one that was gone to.
   * @param {Element|Range} element
   */
  keep(element) {
    this.scrolled = this.log.scrollTop;
    this.held = [
      { element, top: element.getBoundingClientRect().top - this.log.getBoundingClientRect().top },
    ];
  }

  /** Puts what is remembered back where it was, unless somebody scrolled since. */
  hold() {
    const kept =
      this.log.scrollTop === this.scrolled &&
      this.held.findLast(({ element }) => element.getClientRects().length);
    if (!kept) return this.note();
    const moved =
      kept.element.getBoundingClientRect().top - this.log.getBoundingClientRect().top - kept.top;
    if (Math.abs(moved) >= 1) this.log.scrollTop += moved;
    this.scrolled = this.log.scrollTop;
  }

  forget() {
    this.held = [];
  }
}

/**
 * The first message whose lower edge is below `top`. Messages stand one below the other, so that halving finds it.
 * @param {HTMLElement} column
 * @param {number} top in the window
 */
function firstRow(column, top) {
  const { children } = column;
  let [low, high] = [0, children.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if (children[middle].getBoundingClientRect().bottom > top) high = middle;
    else low = middle + 1;
  }
  while (low < children.length && !children[low].matches("article")) low += 1;
  return children[low] ?? null;
}

/**
 * The first part of an element that reaches below `top`; the tail of an answer that is being written is no box itself.
 * @param {Element} element
 * @param {number} top
 * @returns {Element|null}
 */
function firstPart(element, top) {
  for (const child of element.children) {
    if (!child.getClientRects().length) {
      const inside = child.classList.contains("tail") ? firstPart(child, top) : null;
      if (inside) return inside;
    } else if (child.getBoundingClientRect().bottom > top) return child;
  }
  return null;
}
