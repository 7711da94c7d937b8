/** The foot of the sidebar: the person's account, the theme, and importing chats. */

import { byId, h, pressable, setChildren, setText } from "../elements/dom.js";
import { Popover } from "../elements/popover.js";
import { sendChange, submitForm } from "../net/http.js";
import { showError } from "../elements/toast.js";
import { currentTheme, setTheme, THEMES } from "../shell/theme.js";
import { RestoreLine } from "./restore-line.js";
import { say, sayCount } from "../words/say.js";

/**
 * @import { Notices } from "../shell/notices.js"
 * @import { Page } from "../types/page.js"
 */

export class Account {
  /**
   * @param {Page} page
   * @param {{restored: (conversation: {id: string, agent: string}) => void, listed: () => void, agent: () => string, instructions: () => void, keys: () => void, notices: Notices}} actions
   */
  constructor(page, actions) {
    this.page = page;
    this.actions = actions;
    this.count = 0;
    this.popover = new Popover(byId("me-open"), {
      label: say("You and this page"),
      class: "menu me-pop",
      fill: (box) => this.#fill(box),
    });
    this.file = h("input", {
      type: "file",
      accept: ".json,.jsonl,.zip",
      class: "hidden",
      "aria-label": say("Exported chats"),
      tabindex: "-1",
    });
    this.file.addEventListener("change", () => this.#restore());
    this.restoring = new RestoreLine(page, actions);
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
    const words = more
      ? say("{count}+ conversations", { count })
      : sayCount("{count} conversation", "{count} conversations", count);
    setText(byId("me-open"), count ? `${name} · ${words}` : name);
  }

  /** @param {HTMLElement} box */
  #fill(box) {
    const { user, urls, signup, guest_days } = this.page;
    const keeps = this.page.temporary !== "always";
    const next = encodeURIComponent(location.pathname + location.search);
    /**
     * @param {string} words
     * @param {() => void} act
     * @param {{title?: string}} [props]
     */
    const entry = (words, act, props = {}) =>
      pressable(props, () => (this.popover.close(), act()), words);
    setChildren(
      box,
      this.#themes(),
      this.#languages(),
      "Notification" in window && this.#noticeSwitch(),
      entry(say("Your instructions"), () => this.actions.instructions()),
      keeps &&
        entry(say("Import chats"), () => this.file.click(), {
          title: say("Also from ChatGPT, Claude, Open WebUI, LibreChat and SillyTavern."),
        }),
      h(
        "a",
        { href: urls.account },
        user.signed_in ? say("Your account and data") : say("Your data"),
      ),
      entry(say("Keyboard shortcuts"), () => this.actions.keys()),
      !user.signed_in &&
        guest_days > 0 &&
        h(
          "p",
          { class: "me-note" },
          say("Conversations of guests are deleted after {days} without a visit.", {
            days: sayCount("{count} day", "{count} days", guest_days),
          }),
        ),
      user.signed_in
        ? entry(say("Sign out"), () => submitForm(urls.logout))
        : h("a", { href: `${urls.login}?next=${next}` }, say("Sign in")),
      !user.signed_in &&
        signup &&
        h("a", { href: `${urls.signup}?next=${next}` }, say("Create an account")),
    );
  }

  #noticeSwitch() {
    const { notices } = this.actions;
    const box = h("input", { type: "checkbox" });
    box.checked = notices.on;
    const refused = h("span", { class: "me-note", role: "status" });
    box.addEventListener("change", async () => {
      const wished = box.checked;
      box.checked = await notices.switch(wished);
      setText(
        refused,
        wished && !box.checked ? say("Your browser doesn't allow notices from this site.") : "",
      );
    });
    return h(
      "div",
      { class: "me-notices" },
      h("label", {}, box, h("span", {}, say("Notify me of long answers"))),
      refused,
    );
  }

  #themes() {
    const now = currentTheme();
    return h(
      "fieldset",
      { class: "themes" },
      h("legend", {}, say("Theme")),
      THEMES.map((one) => {
        const radio = h("input", { type: "radio", name: "theme", value: one });
        radio.checked = one === now;
        radio.addEventListener("change", () => setTheme(one));
        return h("label", {}, radio, h("span", {}, themeName(one)));
      }),
    );
  }

  #languages() {
    const { names, chosen } = this.page.languages;
    if (Object.keys(names).length < 2) return false;
    const select = h(
      "select",
      {},
      [["", say("As the browser")], ...Object.entries(names)].map(([code, name]) =>
        h("option", { value: code, lang: code || null, selected: code === chosen }, name),
      ),
    );
    select.addEventListener("change", () => {
      const language = select.value;
      sendChange("POST", this.page.urls.language, { language }).then(
        () => location.reload(),
        showError,
      );
    });
    return h("label", { class: "me-language" }, h("span", {}, say("Language")), select);
  }

  #restore() {
    const file = this.file.files?.[0];
    this.file.value = "";
    if (file) void this.restoring.start(file);
  }
}

/** @param {string} theme */
const themeName = (theme) =>
  theme === "light" ? say("light") : theme === "dark" ? say("dark") : say("system");
