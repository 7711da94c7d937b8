/**
 * The row of actions under a message: its versions, what is done often, and a menu for the rest. It is one stop for
 * Tab; the arrow keys lead through it.
 */

import { againMenu } from "../branches/again-menu.js";
import { describeVersion, versionSteps } from "../branches/version-steps.js";
import { h, pressable, setChildren } from "../elements/dom.js";
import { icon } from "../elements/icons.js";
import { walk } from "../elements/menu-keys.js";
import { shorten } from "../state/format.js";
import { describeCall } from "../state/tool-calls.js";
import { say } from "../words/say.js";
import { MessageMenu } from "./message-menu.js";
import { rowActions } from "./table.js";

/**
 * @import { Item, ItemGroup } from "../state/items.js"
 * @import { Verdict } from "../types/wire.js"
 * @import { About, Action, Doing } from "./table.js"
 */

const CONFIRMED = 1600;

export class ActionRow {
  /** @param {Doing} doing */
  constructor(doing) {
    this.doing = doing;
    this.element = h("div", { class: "acts", role: "toolbar" });
    this.drawn = "";
    this.stop = "";
    /** @type {About[]} the messages of the group that have a menu, the newest first */
    this.about = [];
    /** @type {MessageMenu|null} */
    this.menu = null;
    /** @type {(() => void)|null} what is drawn once nothing is open any more */
    this.later = null;
    this.element.addEventListener(
      "toggle",
      ({ newState }) => newState === "closed" && this.later?.(),
      { capture: true },
    );
    this.element.addEventListener("keydown", (event) => this.#walk(event));
    this.element.addEventListener("focusin", ({ target }) => {
      if (target instanceof HTMLButtonElement && this.#buttons.includes(target))
        this.#stopAt(target);
    });
  }

  /**
   * @param {ItemGroup} group
   * @param {{again: boolean, verdict: (item: Item) => Verdict|null}} how `again`: its question can be asked again
   */
  update(group, { again, verdict }) {
    const newest = /** @type {Item} */ (group.items.at(-1));
    const ready = !newest.writing && !newest.waiting && newest.seq !== null;
    this.about = ready
      ? actedOn(group.items).map((item) => ({ item, group, again, verdict: verdict(item) }))
      : [];
    const [about] = this.about;
    const actions = about ? rowActions(about, this.doing) : [];
    const several = ready ? group.items.filter(({ versions }) => versions.length > 1) : [];
    const title = shorten(titleOf(group.items), 40);
    const menu = this.about.some((one) => MessageMenu.has(one, this.doing));
    const drawn = JSON.stringify([
      title,
      menu,
      again,
      group.last,
      actions.map(({ name }) => name),
      several.map(({ id, versions }) => [id, versions]),
    ]);
    // Drawing it anew would close what somebody has opened from it and is about to press.
    const busy = this.element.querySelector(".pop:popover-open") !== null;
    this.later = busy ? () => this.update(group, { again, verdict }) : null;
    if (drawn !== this.drawn && !busy) {
      this.drawn = drawn;
      this.#draw(about, actions, several, menu ? title : null);
      this.element.setAttribute("aria-label", say("Actions for “{message}”", { message: title }));
    }
    this.menu?.refresh();
  }

  /**
   * @param {About|undefined} about
   * @param {Action[]} actions
   * @param {Item[]} several those that have versions
   * @param {string|null} title of the menu; null where there is none
   */
  #draw(about, actions, several, title) {
    const held = /** @type {HTMLElement|null} */ (document.activeElement);
    const act = held && this.element.contains(held) ? held.dataset.act : null;
    const { show, compare, said } = this.doing;
    this.menu =
      about && title !== null ? new MessageMenu(title, () => this.about, this.doing) : null;
    setChildren(
      this.element,
      several.map(({ id, role, versions }) =>
        versionSteps(
          versions,
          versions.findIndex((one) => one.id === id),
          {
            show,
            compare,
            text: (version) => said(version, role),
          },
        ),
      ),
      actions.flatMap((action) => [
        this.#button(action),
        action.name === "again" && about ? this.#otherwise(about) : null,
      ]),
      this.menu?.element,
      facts(several),
    );
    this.element.hidden = !this.element.childElementCount;
    const buttons = this.#buttons;
    const first = buttons.find((button) => button.dataset.act === this.stop) ?? buttons[0];
    if (first) this.#stopAt(first);
    if (act) this.#holdFocus(act);
  }

  /**
   * The focus stays at the same button while somebody steps through the versions by keyboard.
   * @param {string} act
   */
  #holdFocus(act) {
    const buttons = this.#buttons;
    const other = act === "earlier" ? "later" : "earlier";
    (
      buttons.find(({ dataset }) => dataset.act === act) ??
      buttons.find(({ dataset }) => dataset.act === other) ??
      buttons[0]
    )?.focus();
  }

  /** @param {Action} action */
  #button(action) {
    const [about] = this.about;
    const label = action.label(about);
    const drawing = action.drawing?.(about) ?? "more";
    const sign = h("span", { class: "act-sign" }, icon(drawing, 15));
    return pressable(
      { class: "act", "data-act": action.name, "aria-label": label, title: label },
      () => this.#act(action, sign),
      sign,
      action.words?.(about) && h("span", { class: "act-words" }, label),
    );
  }

  /**
   * @param {Action} action
   * @param {HTMLElement} sign of its button
   */
  async #act(action, sign) {
    const [about] = this.about;
    const worked = await action.act(about, this.doing);
    if (!action.confirms || !worked) return;
    const drawing = action.drawing?.(about) ?? "more";
    setChildren(sign, icon("check", 15));
    setTimeout(() => setChildren(sign, icon(drawing, 15)), CONFIRMED);
  }

  /** @param {About} about */
  #otherwise({ item: { turn } }) {
    const { models, memories, retry } = this.doing;
    const again = (
      /** @type {Parameters<Doing["retry"]>[1]} */ model,
      /** @type {Parameters<Doing["retry"]>[2]} */ memory,
    ) => retry(/** @type {string} */ (this.about[0].item.id), model, memory);
    return againMenu(models(), again, turn ? () => memories(turn) : null);
  }

  /** Those of the row itself, not of a menu that is open in it. */
  get #buttons() {
    return [...this.element.querySelectorAll("button")].filter(
      (one) => !one.disabled && !one.closest(".pop"),
    );
  }

  /** @param {HTMLButtonElement} button */
  #stopAt(button) {
    this.stop = button.dataset.act ?? "";
    for (const one of this.element.querySelectorAll("button"))
      if (!one.closest(".pop")) one.tabIndex = one === button ? 0 : -1;
  }

  /** @param {KeyboardEvent} event */
  #walk(event) {
    const buttons = this.#buttons;
    const isHere = buttons.includes(/** @type {HTMLButtonElement} */ (event.target));
    if (!isHere || event.ctrlKey || event.metaKey || event.altKey) return;
    const onward = getComputedStyle(this.element).direction === "rtl" ? -1 : 1;
    walk(event, buttons, { ArrowRight: onward, ArrowLeft: -onward });
  }
}

/**
 * What tells the version that is shown from the others, behind the buttons, so that none of them moves from one version
 * to the next. It is always there where another model wrote another version. Its time stands above the message, and what
 * a turn cost is said of the answer.
 * @param {Item[]} several those that have versions
 */
function facts(several) {
  const item = several.at(-1);
  const shown = item?.versions.find(({ id }) => id === item.id);
  if (!item || !shown || item.role === "user") return null;
  const mixed = new Set(item.versions.map(({ model }) => model)).size > 1;
  return h(
    "span",
    { class: `version-facts cut ${mixed ? "mixed" : ""}`, "aria-hidden": "true" },
    describeVersion({ ...shown, at: "" }),
  );
}

/**
 * A mark on any tool call marks the whole turn, so one call's menu serves all that aren't marked themselves.
 * @param {Item[]} items
 */
const actedOn = (items) =>
  items
    .filter(
      (item, index) =>
        index === items.length - 1 ||
        index === 0 ||
        !item.calls.length ||
        item.pinned ||
        item.excluded,
    )
    .reverse();

/**
 * A name for the messages: their text, their tool calls, or their files.
 * @param {Item[]} items
 */
const titleOf = (items) =>
  items.map(({ content }) => content).find(Boolean) ||
  items.flatMap(({ calls }) => calls.map(describeCall)).join(", ") ||
  items.flatMap(({ attachments }) => attachments.map(({ name }) => name)).join(", ");
