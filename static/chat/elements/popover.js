/** Small windows at a button: opened by it, closed by Esc, by a press elsewhere, or by leaving it. */

import { h } from "./dom.js";

/** @type {Popover[]} */
const open = [];

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
    this.box = h("div", { class: `pop ${name} ${free ? "free" : ""}`, role: "dialog", "aria-label": label, tabindex: "-1", hidden: true, popover: free && "manual" });
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
    if (this.free) {
      this.box.showPopover();
      this.placeFree();
    }
    this.button.setAttribute("aria-expanded", "true");
    open.push(this);
    const first = /** @type {HTMLElement|null} */ (
      this.box.querySelector("[data-first], input:checked:not(:disabled)") ?? this.box
    );
    first?.focus({ preventScroll: true });
  }

  /** Below the button where there is room, above it otherwise. */
  placeFree() {
    const { top, bottom, left } = this.button.getBoundingClientRect();
    const { offsetHeight: height, offsetWidth: width } = this.box;
    this.box.style.top = `${Math.max(8, bottom + height + 8 > innerHeight ? top - height - 4 : bottom + 4)}px`;
    this.box.style.left = `${Math.max(8, Math.min(left, innerWidth - width - 8))}px`;
  }

  close({ focus = true } = {}) {
    if (!this.shown) return;
    const { activeElement } = document;
    const held = this.box.contains(activeElement) || activeElement === document.body;
    this.box.hidden = true;
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
