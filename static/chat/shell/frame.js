/** Which parts of the page are open: the sidebar beside or over the chat, and the debug panel. */

import { byId } from "../elements/dom.js";
import { icon } from "../elements/icons.js";
import { setDebug } from "../net/address.js";
import { loadItem, storeItem } from "../net/storage.js";

/** @import { Page } from "../types/page.js" */

const NARROW = matchMedia("(max-width: 760px)");
const MIDDLE = matchMedia("(max-width: 1160px)");

export class Frame {
  /** @param {Page} page */
  constructor(page) {
    this.app = byId("app");
    this.mayPanel = page.debug_panel;
    byId("side-hide").append(icon("left"));
    byId("side-show").append(icon("menu"));
    byId("panel-toggle").append(icon("panel"));
    byId("side-hide").addEventListener("click", () => this.showSidebar(false));
    byId("side-show").addEventListener("click", () => this.showSidebar(true));
    byId("backdrop").addEventListener("click", () => this.showSidebar(false));
    byId("panel-toggle").hidden = !this.mayPanel;
    byId("panel-toggle").addEventListener("click", () => this.showPanel(!this.panelOpen));
    for (const width of [NARROW, MIDDLE]) width.addEventListener("change", () => this.#resized());
    this.panelOpen = page.debug && page.debug_panel;
    this.sideOpen = this.#sideUsually();
    /** @type {Element|null} what had the focus when the panel was opened */
    this.before = null;
    /** @type {(() => void)[]} */
    this.onPanelOpened = [];
    this.#arrange();
  }

  /** Whether the sidebar covers the chat, because there is no room for three columns. */
  get drawer() {
    return NARROW.matches || (MIDDLE.matches && this.panelOpen);
  }

  #sideUsually() {
    return !this.drawer && loadItem("sidebar") !== "hidden";
  }

  #resized() {
    this.sideOpen = this.#sideUsually();
    this.#arrange();
  }

  toggleSide() {
    this.showSidebar(!this.sideOpen);
  }

  /** @param {boolean} open */
  showSidebar(open, { focus = true } = {}) {
    this.sideOpen = open;
    if (!this.drawer) storeItem("sidebar", open ? null : "hidden");
    this.#arrange();
    if (focus) byId(open ? "side-hide" : "side-show").focus();
  }

  /** Closes the drawer after something was chosen in it. */
  closeDrawer() {
    if (this.drawer && this.sideOpen) this.showSidebar(false, { focus: false });
  }

  /**
   * @param {boolean} open
   * @param {{focus?: boolean}} [how] `focus`: to what had it before the panel was opened
   */
  showPanel(open, { focus = false } = {}) {
    if (open === this.panelOpen || !this.mayPanel) return;
    const { activeElement } = document;
    const held = byId("panel").contains(activeElement);
    if (open) this.before = activeElement;
    this.panelOpen = open;
    if (MIDDLE.matches) this.sideOpen = this.#sideUsually();
    setDebug(open);
    this.#arrange();
    if (open) for (const act of this.onPanelOpened) act();
    else if (held) this.#giveBack(focus);
  }

  /**
   * Focuses what opened the panel, or its button.
   * @param {boolean} before
   */
  #giveBack(before) {
    const opener =
      before && this.before instanceof HTMLElement && this.before.isConnected ? this.before : null;
    (opener?.checkVisibility() && opener !== document.body ? opener : byId("panel-toggle")).focus();
  }

  /** Closes what is over the chat; false where nothing is. */
  closeTop() {
    if (this.drawer && this.sideOpen) this.showSidebar(false);
    else if (this.panelOpen) this.showPanel(false, { focus: true });
    else return false;
    return true;
  }

  #arrange() {
    const over = this.drawer && this.sideOpen;
    this.app.classList.toggle("drawer", this.drawer);
    this.app.classList.toggle("no-side", !this.sideOpen);
    this.app.classList.toggle("with-panel", this.panelOpen);
    byId("side").inert = !this.sideOpen;
    byId("chat").inert = over;
    byId("panel").inert = over;
    byId("backdrop").hidden = !over;
    byId("side-show").hidden = this.sideOpen && !this.drawer;
    byId("side-show").setAttribute("aria-expanded", String(this.sideOpen));
    byId("panel").hidden = !this.panelOpen;
    const toggle = byId("panel-toggle");
    toggle.setAttribute("aria-expanded", String(this.panelOpen));
    toggle.classList.toggle("on", this.panelOpen);
  }
}
