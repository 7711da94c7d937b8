/** Keeps the focus where it was when the row that had it is drawn anew, so that Tab goes on from there. */

/**
 * @param {HTMLElement} column what holds the rows, each an article
 * @param {() => void} draw
 */
export function keepFocus(column, draw) {
  const held = /** @type {HTMLElement|null} */ (document.activeElement);
  const row = held?.closest("article");
  // An editor that loses its message says itself where the focus goes.
  if (!held || !row || !column.contains(row) || held.closest(".editor")) return draw();
  const { act = "" } = held.dataset;
  const place = [...column.querySelectorAll("article")].indexOf(row);
  draw();
  if (held.isConnected && held.checkVisibility()) return;
  const rows = column.querySelectorAll("article");
  const now = row.isConnected ? row : rows[Math.min(place, rows.length - 1)];
  const same = act && now?.querySelector(`[data-act="${CSS.escape(act)}"]:enabled`);
  /** @type {HTMLElement|null} */ (same || now)?.focus({ preventScroll: true });
}
