/** Small windows at a button: opened by it, closed by Esc, by a press elsewhere, or by leaving it. */

import { h } from "./dom.js";

/** @type {Popover[]} */
const open = [];
// In pixels: to the button, and to the window's edge beyond that; and the least height, which then lies over the button.
const FREE_GAP = 4;
const FREE_EDGE = 12;
const FREE_LEAST = 120;

export class Popover {
  /**
   * @param {HTMLElement} button
   * @param {{label: string, class?: string, free?: boolean, fill: (box: HTMLElement) => void, shown?: (open: boolean) => void}} options
   *   `fill` is called at every opening; `free` is placed over elements that would clip it; `shown` hears of every
   *   opening and closing
   */
  constructor(button, { label, class: name = "", free = false, fill, shown = () => {} }) {
    this.button = button;
    this.fill = fill;
    this.whenShown = shown;
    this.free = free;
    /** @type {ResizeObserver|null} made at the first opening: a long chat has hundreds of these windows */
    this.grows = null;
    this.box = h("div", {
      class: `pop ${name} ${free ? "free" : ""}`,
      role: "dialog",
      "aria-label": label,
      tabindex: "-1",
      hidden: true,
      popover: free && "manual",
    });
    button.setAttribute("aria-haspopup", "dialog");
    button.setAttribute("aria-expanded", "false");
    button.after(this.box);
    button.addEventListener("click", () => this.toggle());
    this.box.addEventListener("focusout", (event) => {
      const to = /** @type {Node|null} */ (event.relatedTarget);
      if (to && !this.box.contains(to) && to !== button) this.close({ focus: false });
    });
  }

  get shown() {
    return !this.box.hidden;
  }

  toggle() {
    if (this.shown) this.close();
    else this.show();
  }

  show() {
    for (const other of [...open]) other.close({ focus: false });
    this.fill(this.box);
    this.box.hidden = false;
    this.whenShown(true);
    this.box.scrollTop = 0;
    if (this.free) {
      this.box.showPopover();
      this.placeFree();
      // What is loaded after the opening makes it taller.
      this.grows ??= new ResizeObserver(() => this.placeFree());
      this.grows.observe(this.box);
    }
    this.button.setAttribute("aria-expanded", "true");
    open.push(this);
    const first = /** @type {HTMLElement|null} */ (
      this.box.querySelector("[data-first], input:checked:not(:disabled)") ?? this.box
    );
    first?.focus({ preventScroll: true });
  }

  /** Below the button where there is room for all of it or more than above, and never over the button. */
  placeFree() {
    const { top, bottom, left } = this.button.getBoundingClientRect();
    const { style, scrollHeight: height, offsetWidth: width } = this.box;
    const above = top - FREE_EDGE;
    const below = innerHeight - bottom - FREE_EDGE;
    const under = height <= below || below >= above;
    style.top = under ? `${bottom + FREE_GAP}px` : "auto";
    style.bottom = under ? "auto" : `${innerHeight - top + FREE_GAP}px`;
    style.maxHeight = `${Math.max(FREE_LEAST, under ? below : above)}px`;
    style.left = `${Math.max(8, Math.min(left, innerWidth - width - 8))}px`;
  }

  close({ focus = true } = {}) {
    if (!this.shown) return;
    const { activeElement } = document;
    const held = this.box.contains(activeElement) || activeElement === document.body;
    this.box.hidden = true;
    this.grows?.disconnect();
    this.whenShown(false);
    if (this.free && this.box.isConnected) this.box.hidePopover();
    this.box.replaceChildren();
    this.button.setAttribute("aria-expanded", "false");
    open.splice(open.indexOf(this), 1);
    if (focus && held) this.button.focus();
  }
}

/** Closes the newest; false where none is open. */
export function closeNewest() {
  // A window may have gone with the part of the page that it stood in.
  while (open.length && !open[open.length - 1].box.isConnected) open.pop();
  const newest = open.at(-1);
  newest?.close();
  return Boolean(newest);
}

document.addEventListener("pointerdown", (event) => {
  const target = /** @type {Node} */ (event.target);
  for (const one of [...open]) {
    if (!one.box.contains(target) && !one.button.contains(target)) one.close({ focus: false });
  }
});
// A phone that is turned, and a window that is made smaller.
addEventListener("resize", () => {
  for (const one of open.filter(({ free }) => free)) {
    one.button.scrollIntoView({ block: "nearest" });
    one.placeFree();
  }
});
