/** Keyboard shortcuts. They can be changed, or switched off for people whose tools use the same keys. */

import { setText } from "../elements/dom.js";
import { loadItem, storeItem } from "../net/storage.js";
import { areSame, keysOf, nameKeys, withKeys } from "../state/keys.js";

/** @import { Command, Keys } from "../state/keys.js" */

const MAC = /Mac|iPhone|iPad/.test(navigator.platform);

/** @param {Keys} keys */
export const keyNames = (keys) => nameKeys(keys, MAC);

export class Shortcuts {
  /**
   * @param {Command[]} table with the usual keys
   * @param {() => void} escape what Esc does; always on
   */
  constructor(table, escape) {
    this.table = table;
    this.commands = withKeys(table, loadItem("keys") ?? "{}");
    this.on = loadItem("shortcuts") !== "off";
    this.escape = escape;
    document.addEventListener("keydown", (event) => this.#pressed(event));
    this.#hint();
  }

  /** Writes keys beside what they do, where the page has a place for them. */
  #hint() {
    for (const place of document.querySelectorAll("[data-keys]")) {
      const { keys = null } =
        this.commands.find(
          ({ name }) => name === /** @type {HTMLElement} */ (place).dataset.keys,
        ) ?? {};
      setText(place, keys && this.on ? keyNames(keys).join(MAC ? "" : " ") : "");
    }
  }

  /** @param {KeyboardEvent} event */
  #pressed(event) {
    if (event.isComposing || event.keyCode === 229 || event.defaultPrevented) return;
    if (event.key === "Escape" && !event.shiftKey) {
      // An open dialog closes by itself.
      if (!document.querySelector("dialog[open]")) this.escape();
      return;
    }
    if (!this.on || event.altKey) return;
    const pressed = keysOf(event);
    const one = this.commands.find(({ keys }) => areSame(keys, pressed));
    if (!one || document.querySelector("dialog[open]")) return;
    // In a draft the arrows go on selecting lines.
    if (
      /^Arrow/.test(pressed.code) &&
      event.target instanceof HTMLTextAreaElement &&
      event.target.value
    )
      return;
    event.preventDefault();
    one.act();
  }

  /** @param {boolean} on */
  switch(on) {
    this.on = on;
    storeItem("shortcuts", on ? null : "off");
    this.#hint();
  }

  /**
   * @param {Command} command
   * @param {Keys} keys
   */
  change(command, keys) {
    this.#keep(this.commands.map((one) => (one === command ? { ...one, keys } : one)));
  }

  /** Gives every command its usual keys again. */
  reset() {
    this.#keep(this.table);
  }

  /** @param {Command[]} commands */
  #keep(commands) {
    const changed = commands.filter(
      (one, index) => one.keys && !areSame(one.keys, this.table[index].keys),
    );
    const stored = JSON.stringify(
      Object.fromEntries(changed.map(({ name, keys }) => [name, keys])),
    );
    storeItem("keys", changed.length ? stored : null);
    // As after a reload: a command gets its usual keys back when another one gives them up.
    this.commands = withKeys(this.table, stored);
    this.#hint();
  }
}
