/** The palette: actions, agents, models and memories, chats and messages in one list, found by typing. */

import { h, setChildren } from "../elements/dom.js";
import { showError } from "../elements/toast.js";
import { say } from "../words/say.js";
import { keyNames } from "../shell/shortcuts.js";

/**
 * @import { Keys } from "../state/keys.js"
 * @import { PaletteBox } from "./box.js"
 */

/**
 * @typedef {{group: string, words: string, parts?: [string, boolean][], more?: string, keys?: Keys|null, act: () => void}} Entry
 *   `parts`: the words, each with whether it was looked for
 * @typedef {{entries: () => Entry[], chats: (text: string, signal: AbortSignal) => Promise<Entry[]>}} Sources `chats`: chats
 *   and messages with the words, or the newest chats
 */

const MOST = 40;
// In ms after the last key, before chats are searched.
const PAUSE = 150;

export class Palette {
  /**
   * @param {PaletteBox} box
   * @param {Sources} sources
   */
  constructor({ input, list, dialog }, sources) {
    this.sources = sources;
    this.input = input;
    this.list = list;
    this.dialog = dialog;
    /** @type {Entry[]} */
    this.fixed = [];
    /** @type {Entry[]} */
    this.chats = [];
    /** @type {Entry[]} */
    this.shown = [];
    this.at = 0;
    this.timer = 0;
    this.asked = new AbortController();
    this.dialog.addEventListener("close", () => this.#giveUp());
    this.input.addEventListener("input", () => this.#typed());
    this.dialog.addEventListener("keydown", (event) => this.#pressed(event));
  }

  /** Fills the window, which is open: something may be typed there already. */
  show() {
    this.at = 0;
    this.fixed = this.sources.entries();
    this.chats = [];
    this.#draw();
    void this.#search();
  }

  #typed() {
    this.at = 0;
    this.fixed = this.sources.entries(); // models and memories may have arrived meanwhile
    this.#giveUp();
    this.#draw();
    this.timer = window.setTimeout(() => void this.#search(), PAUSE);
  }

  /** What was asked for other words isn't waited for. */
  #giveUp() {
    clearTimeout(this.timer);
    this.asked.abort();
    this.asked = new AbortController();
  }

  async #search() {
    const { signal } = this.asked;
    try {
      const found = await this.sources.chats(this.input.value.trim(), signal);
      if (signal.aborted) return;
      this.chats = found;
      this.#draw();
    } catch (error) {
      if (!signal.aborted) showError(error);
    }
  }

  #draw() {
    const wanted = this.input.value.toLowerCase().split(/\s+/).filter(Boolean);
    const actions = this.fixed.filter(({ words, group }) =>
      wanted.every((word) => `${words} ${group}`.toLowerCase().includes(word)),
    );
    // The group first in which something begins with what was typed.
    const begun = new Set(
      actions
        .filter(({ words }) => wanted.length && words.toLowerCase().startsWith(wanted[0]))
        .map(({ group }) => group),
    );
    actions.sort((one, other) => Number(begun.has(other.group)) - Number(begun.has(one.group)));
    const all = wanted.length ? [...actions, ...this.chats] : [...this.chats, ...actions];
    this.shown = all.slice(0, MOST);
    this.at = Math.max(0, Math.min(this.at, this.shown.length - 1));
    let group = "";
    setChildren(
      this.list,
      this.shown.length === 0 && h("p", { class: "pop-note" }, say("Nothing found.")),
      this.shown.flatMap((entry, index) => {
        const head =
          entry.group !== group &&
          h("div", { class: "palette-group", role: "presentation" }, entry.group);
        group = entry.group;
        return [head, this.#row(entry, index)];
      }),
    );
    this.#mark();
  }

  /**
   * @param {Entry} entry
   * @param {number} index
   */
  #row(entry, index) {
    return h(
      "div",
      {
        class: entry.parts ? "palette-row said" : "palette-row",
        role: "option",
        id: `palette-${index}`,
        on: { click: () => this.#take(index) },
      },
      h(
        "span",
        {},
        entry.parts?.map(([text, found]) => (found ? h("mark", {}, text) : text)) ?? entry.words,
      ),
      entry.more && h("small", {}, entry.more),
      entry.keys &&
        h(
          "span",
          { class: "palette-keys", "aria-hidden": "true" },
          keyNames(entry.keys).map((key) => h("kbd", {}, key)),
        ),
    );
  }

  #mark() {
    for (const row of this.list.querySelectorAll("[role=option]")) {
      const on = row.id === `palette-${this.at}`;
      row.setAttribute("aria-selected", String(on));
      if (on) row.scrollIntoView({ block: "nearest" });
    }
    if (this.shown.length) this.input.setAttribute("aria-activedescendant", `palette-${this.at}`);
    else this.input.removeAttribute("aria-activedescendant");
  }

  /** @param {KeyboardEvent} event */
  #pressed(event) {
    if (event.isComposing) return;
    const by = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (by && this.shown.length) {
      event.preventDefault();
      this.at = (this.at + by + this.shown.length) % this.shown.length;
      this.#mark();
    } else if (event.key === "Enter") {
      event.preventDefault();
      this.#take(this.at);
    }
  }

  /** @param {number} index */
  #take(index) {
    const entry = this.shown[index];
    if (!entry) return;
    this.dialog.close();
    entry.act();
  }
}
