/** The window of a chat's links: make one, copy it, change it, take it back. */

import { announce } from "../elements/announce.js";
import { copy, copyWhenThere, sayOn } from "../elements/clipboard.js";
import { askToConfirm } from "../elements/confirm.js";
import { closeButton, fillDialog } from "../elements/dialog.js";
import { h, pressable, setChildren, setText, textButton } from "../elements/dom.js";
import { showError } from "../elements/toast.js";
import { getJson, sendChange } from "../net/http.js";
import { formatDay, joinParts } from "../state/format.js";
import { say, sayCount } from "../words/say.js";

/**
 * @import { Page, SharedLink, SharedLinks } from "../types/page.js"
 * @typedef {"receipts"|"tools"|"files"} Tick
 * @typedef {{days?: number, following?: boolean} & Partial<Record<Tick, boolean>>} Wish
 */

const DAYS = [1, 7, 30, 90];

/** @returns {[Tick, string, string][]} its name, its label, and what a line says of a link that has it */
const TICKS = () => [
  ["receipts", say("What the model saw for each answer"), say("what the model saw")],
  ["tools", say("Tools and thoughts"), say("tools and thoughts")],
  ["files", say("Attached files"), say("files")],
];

/** @param {SharedLink} link */
const addressOf = ({ path }) => new URL(path, location.href).href;

export class ShareWindow {
  /**
   * @param {Page} page
   * @param {() => void} changed
   */
  constructor(page, changed) {
    this.page = page;
    this.changed = changed;
    const named = { id: "share", "aria-labelledby": "share-title" };
    this.dialog = h("dialog", { class: "box share-box", ...named });
    document.body.append(this.dialog);
    this.path = "";
    /** @type {SharedLink[]} */
    this.links = [];
    this.list = h("div", { class: "share-list" });
    /** @type {Wish} what the next link will be */
    this.wish = {};
  }

  /** @param {string} conversation */
  async open(conversation) {
    this.path = `${this.page.urls.conversations}/${conversation}/shares`;
    this.wish = { days: 7, following: false };
    try {
      /** @type {SharedLinks} */
      const { shares, why_not: whyNot, sign_in: signIn } = await getJson(this.path);
      this.links = shares;
      const form = whyNot ? [h("p", { class: "quiet" }, whyNot)] : this.#form();
      const { urls, signup } = this.page;
      const to = (/** @type {string} */ url) =>
        `${url}?next=${encodeURIComponent(location.pathname)}`;
      const ways = signIn && [
        h("a", { class: "plain-button", href: to(urls.login) }, say("Sign in")),
        signup && h("a", { class: "primary", href: to(urls.signup) }, say("Create an account")),
      ];
      const foot = [closeButton("plain-button"), ...(ways || [])];
      fillDialog(this.dialog, say("Share this chat"), [...form, this.list], foot);
      this.#draw();
      if (!this.dialog.open) this.dialog.showModal();
    } catch (error) {
      showError(error);
    }
  }

  #form() {
    const about = say(
      "Whoever has the link reads the chat, without an account. Nobody can write there.",
    );
    return [
      h("p", { class: "quiet" }, about),
      choices("new", this.wish, (change) => void Object.assign(this.wish, change)),
      pressable({ class: "primary", autofocus: true }, () => this.#make(), say("Copy a new link")),
    ];
  }

  /** While the button is being pressed, the clipboard gets the link that is still being made. */
  async #make() {
    /** @type {Promise<{share: SharedLink}>} */
    const making = sendChange("POST", this.path, this.wish);
    const copied = copyWhenThere(making.then(({ share }) => addressOf(share)));
    try {
      const { share } = await making;
      this.#change([share, ...this.links]);
      const done = await copied;
      announce(done ? say("The link is copied.") : say("The link is made. Copy it yourself."));
      const button = this.list.querySelector("button");
      if (done && button) sayOn(button, say("Copied"));
    } catch (error) {
      copied.catch(() => {}); // for the same reason
      showError(error);
    }
  }

  /** @param {SharedLink[]} links */
  #change(links) {
    this.links = links;
    this.#draw();
    this.changed();
  }

  #draw() {
    setChildren(
      this.list,
      this.links.length > 0 && h("h3", {}, say("Links to this chat")),
      this.links.map((link) => this.#row(link)),
    );
  }

  /** @param {SharedLink} link */
  #row(link) {
    const address = addressOf(link);
    const field = h("input", { readonly: true, value: address, "aria-label": say("Link") });
    field.addEventListener("focus", () => field.select());
    const button = pressable({ class: "plain-button" }, () => copy(address, button), say("Copy"));
    const about = h("p", { class: "quiet" }, describe(link));
    const change = async (/** @type {Wish} */ wish) => {
      try {
        const { share } = await sendChange("PATCH", `${this.page.urls.shares}/${link.id}`, wish);
        setText(about, describe(Object.assign(link, share)));
        this.changed();
        announce(say("Changed."));
      } catch (error) {
        showError(error);
      }
    };
    return h(
      "section",
      { class: "share-link", "aria-label": say("Link") },
      h("div", {}, field, button),
      about,
      h("details", {}, h("summary", {}, say("Change")), choices(link.id, link, change)),
      textButton(say("Take back"), () => this.#takeBack(link)),
    );
  }

  /** @param {SharedLink} link */
  async #takeBack(link) {
    const sure = await askToConfirm({
      title: say("Take this link back?"),
      text: say("It stops at once for everybody who has it. A new link has another address."),
      yes: say("Take back"),
    });
    if (!sure) return;
    try {
      await sendChange("DELETE", `${this.page.urls.shares}/${link.id}`);
      this.#change(this.links.filter((one) => one !== link));
      this.dialog.querySelector("button")?.focus();
      announce(say("The link is taken back."));
    } catch (error) {
      showError(error);
    }
  }
}

/** @param {SharedLink} link */
const describe = (link) =>
  joinParts([
    link.following
      ? say("With what is added later")
      : say("As of {date}", { date: formatDay(link.created) }),
    ...TICKS()
      .filter(([tick]) => link[tick])
      .map(([, , words]) => words),
    say("ends {date}", { date: formatDay(link.ends) }),
  ]);

/**
 * What a link shows, and for how long.
 * @param {string} name
 * @param {Wish & {ends?: string}} now
 * @param {(change: Wish) => unknown} choose
 */
function choices(name, now, choose) {
  const choice = (
    /** @type {import("../elements/dom.js").Props} */ props,
    /** @type {string} */ words,
  ) => h("label", {}, h("input", props), words);
  const kind = (/** @type {boolean} */ following) => ({
    type: "radio",
    name: `share-${name}`,
    checked: Boolean(now.following) === following,
    on: { change: () => choose({ following }) },
  });
  const days = h(
    "select",
    {},
    now.ends && h("option", { value: "" }, formatDay(now.ends)),
    DAYS.map((count) => {
      const words = sayCount("in {count} day", "in {count} days", count);
      return h("option", { value: count, selected: count === now.days }, words);
    }),
  );
  days.addEventListener("change", () => days.value && choose({ days: Number(days.value) }));
  return h(
    "fieldset",
    { class: "share-choices", "aria-label": say("What the link shows") },
    choice(kind(false), say("As the chat is now")),
    choice(kind(true), say("With what is added later")),
    TICKS().map(([tick, words]) => {
      const toggle = (/** @type {Event} */ { target }) =>
        choose({ [tick]: /** @type {HTMLInputElement} */ (target).checked });
      return choice({ type: "checkbox", checked: now[tick], on: { change: toggle } }, words);
    }),
    h("label", {}, say("Ends"), days),
  );
}
