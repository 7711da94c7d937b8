/**
 * Releases the boxes of messages that were scrolled far away. A browser builds them when a message comes near, and keeps
 * them for good: 1.3 MB for an answer of 18,000 characters. They are built again when it comes near again; its height,
 * its text, searching in the page and what is read aloud don't depend on them.
 */

// In ms. What is scrolled past and back at once keeps its boxes.
const PATIENCE = 500;

export class FarRows {
  /** @param {HTMLElement} column what holds the rows */
  constructor(column) {
    /** @type {WeakSet<HTMLElement>} rows that have boxes */
    this.drawn = new WeakSet();
    /** @type {Set<HTMLElement>} rows whose boxes are to be released */
    this.far = new Set();
    this.waiting = false;
    column.addEventListener("contentvisibilityautostatechange", (event) => {
      const row = /** @type {HTMLElement} */ (event.target);
      const { skipped } = /** @type {ContentVisibilityAutoStateChangeEvent} */ (event);
      if (!skipped) {
        this.drawn.add(row);
        this.far.delete(row);
      } else if (this.drawn.has(row)) this.#release(row);
    });
  }

  /** @param {HTMLElement} row */
  #release(row) {
    this.far.add(row);
    if (this.waiting) return;
    this.waiting = true;
    setTimeout(() => this.#releaseAll(), PATIENCE);
  }

  #releaseAll() {
    this.waiting = false;
    const rows = [...this.far].filter(
      (row) => row.isConnected && !row.hidden && !row.contains(document.activeElement),
    );
    this.far.clear();
    // A style that is computed while they are hidden drops their boxes; nothing is laid out meanwhile, so nothing moves.
    for (const row of rows) row.hidden = true;
    for (const row of rows) row.checkVisibility();
    for (const row of rows) {
      row.hidden = false;
      this.drawn.delete(row);
    }
  }
}
