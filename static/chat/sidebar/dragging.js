/** Conversations that are dragged with the mouse onto a folder, the pinned ones, the list or the archive. */

/** @import { Change } from "./arranging.js" */

/**
 * @param {HTMLElement} list
 * @param {HTMLElement} side with the list's foot
 * @param {(id: string) => string[]} along what goes along with a row
 * @param {(ids: string[], set: Change) => void} drop
 */
export function dragRows(list, side, along, drop) {
  /** @type {string[]} */
  let ids = [];
  /** @type {HTMLElement|null} */
  let from = null;
  /** @type {HTMLElement|null} */
  let over = null;
  /** @type {(event: Event, what: string) => HTMLElement|null} */
  const around = (event, what) => /** @type {HTMLElement} */ (event.target).closest?.(what);
  /** @param {HTMLElement|null} place */
  const mark = (place) => {
    over?.classList.remove("drop-here");
    over = place;
    over?.classList.add("drop-here");
  };
  list.addEventListener("dragstart", (event) => {
    const row = around(event, "[data-id]");
    from = around(event, "[data-drop]");
    if (!row || !from) return;
    ids = along(row.dataset.id ?? "");
    // A browser gives up the drag where the page changes while it begins.
    setTimeout(() => side.classList.add("dragging"));
  });
  side.addEventListener("dragover", (event) => {
    const place = ids.length ? around(event, "[data-drop]") : null;
    mark(place === from ? null : place);
    if (over) event.preventDefault();
  });
  side.addEventListener("drop", (event) => {
    if (!over) return;
    event.preventDefault();
    drop(ids, changeOf(over.dataset.drop ?? "", from?.dataset.drop));
  });
  document.addEventListener("dragend", () => {
    ids = [];
    mark(null);
    side.classList.remove("dragging");
  });
}

/**
 * @param {string} place a folder's begins with a slash
 * @param {string} [from]
 * @returns {Change}
 */
function changeOf(place, from) {
  if (place === "pinned") return { pinned: true };
  if (place === "archive") return { archived: true };
  if (place === "list" && from === "pinned") return { pinned: false };
  return { folder: place === "list" ? null : place.slice(1) };
}
