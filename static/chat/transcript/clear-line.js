/** Keeps the line out from under the menu in which it is moved, so that one sees it move. */

// In pixels, between the menu and the line below it.
const CLEARANCE = 14;

export class ClearLine {
  /**
   * @param {HTMLElement} log what scrolls
   * @param {HTMLElement} line
   * @param {() => void} scrolled hears that the text was moved
   */
  constructor(log, line, scrolled) {
    this.log = log;
    this.line = line;
    this.scrolled = scrolled;
    /** @type {HTMLElement|null} */
    this.menu = null;
    // In pixels, above the text: near its beginning it can't be scrolled down far enough.
    this.room = 0;
  }

  /** @param {HTMLElement|null} menu null: there is none any more */
  cover(menu) {
    this.menu = menu;
    if (!menu) this.#makeRoom(0);
    this.update();
  }

  /** The menu has its place, and the text the room that it leaves, at the next frame. */
  update() {
    if (this.menu) requestAnimationFrame(() => this.#clear());
  }

  #clear() {
    if (!this.menu?.checkVisibility() || !this.line.isConnected) return;
    const menu = this.menu.getBoundingClientRect();
    const line = this.line.getBoundingClientRect();
    const beside = line.right < menu.left || line.left > menu.right;
    if (beside || line.bottom < menu.top || line.top > menu.bottom) return;
    this.scrolled();
    const missing = menu.bottom + CLEARANCE - line.top;
    if (missing > this.log.scrollTop) this.#makeRoom(this.room + missing - this.log.scrollTop);
    this.log.scrollTop -= missing;
  }

  /** @param {number} room above the text, which stays where it is in the window if it can */
  #makeRoom(room) {
    if (room === this.room) return;
    const column = /** @type {HTMLElement} */ (this.log.firstElementChild);
    column.style.marginTop = room ? `${room}px` : "";
    this.log.scrollTop += room - this.room;
    this.room = room;
  }
}
