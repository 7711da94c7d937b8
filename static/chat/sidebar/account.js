/** The foot of the sidebar: the person's account, the theme, and restoring a saved chat. */

import { byId, h, setChildren, setText } from "../elements/dom.js";
import { Popover } from "../elements/popover.js";
import { submitForm } from "../net/http.js";
import { currentTheme, setTheme, THEMES } from "../shell/theme.js";
import { plural } from "../state/format.js";
import { RestoreLine } from "./restore-line.js";

/**
 * @import { Page } from "../types/page.js"
 * @import { Conversation } from "../types/wire.js"
 */

export class Account {
  /**
   * @param {Page} page
   * @param {{restored: (conversation: Conversation) => void, keys: () => void}} actions
   */
  constructor(page, actions) {
    this.page = page;
    this.actions = actions;
    this.count = 0;
    this.popover = new Popover(byId("me-open"), { label: "You and this page", class: "menu me-pop", fill: (box) => this.#fill(box) });
    this.file = h("input", { type: "file", accept: ".json,application/json", class: "hidden", "aria-label": "A saved conversation", tabindex: "-1" });
    this.file.addEventListener("change", () => this.#restore());
    this.restoring = new RestoreLine(page, actions.restored);
    byId("me").before(this.restoring.element);
    byId("me").append(this.file);
    this.showCount(0);
  }

  /**
   * @param {number} count of those that are loaded
   * @param {boolean} [more] whether there are more
   */
  showCount(count, more = false) {
    const { name } = this.page.user;
    const words = more ? `${count}+ conversations` : plural(count, "conversation");
    setText(byId("me-open"), count ? `${name} · ${words}` : name);
  }

  /** @param {HTMLElement} box */
  #fill(box) {
    const { user, urls, signup, guest_days } = this.page;
    const next = encodeURIComponent(location.pathname + location.search);
    /**
     * @param {string} words
     * @param {() => void} act
     */
    const entry = (words, act) => h("button", { type: "button", on: { click: () => (this.popover.close(), act()) } }, words);
    setChildren(
      box,
      this.#themes(),
      entry("Restore a chat from a file", () => this.file.click()),
      h("a", { href: urls.account }, user.signed_in ? "Your account and data" : "Your data"),
      entry("Keyboard shortcuts", () => this.actions.keys()),
      !user.signed_in && guest_days > 0 && h("p", { class: "me-note" },
        `Conversations of guests are deleted after ${plural(guest_days, "day")} without a visit.`),
      user.signed_in
        ? entry("Sign out", () => submitForm(urls.logout))
        : h("a", { href: `${urls.login}?next=${next}` }, "Sign in"),
      !user.signed_in && signup && h("a", { href: `${urls.signup}?next=${next}` }, "Create an account"),
    );
  }

  #themes() {
    const now = currentTheme();
    return h("fieldset", { class: "themes" },
      h("legend", {}, "Theme"),
      THEMES.map((one) => {
        const radio = h("input", { type: "radio", name: "theme", value: one });
        radio.checked = one === now;
        radio.addEventListener("change", () => setTheme(one));
        return h("label", {}, radio, h("span", {}, one));
      }));
  }

  #restore() {
    const file = this.file.files?.[0];
    this.file.value = "";
    if (file) void this.restoring.start(file);
  }
}
