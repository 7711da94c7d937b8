/** The list above the message box: what a slash at its beginning can do. */

import { byId, h, setChildren } from "../elements/dom.js";
import { listFor } from "../state/slash.js";
import { say } from "../words/say.js";

/**
 * @import { Choice, Command } from "../state/keys.js"
 * @import { Composer } from "./composer.js"
 */

const ID = "slash-list";

export class SlashList {
  /**
   * @param {Composer} composer
   * @param {{commands: () => Command[], prompts: () => Choice[], load: () => Promise<unknown>}} sources `load` brings the
   *   prompts, of which those that are known are listed meanwhile
   */
  constructor(composer, sources) {
    this.composer = composer;
    this.sources = sources;
    this.box = composer.box;
    this.list = h("div", {
      class: "slash-list",
      id: ID,
      role: "listbox",
      "aria-label": say("Commands"),
      hidden: true,
    });
    byId("composer").append(this.list);
    /** @type {ReturnType<typeof listFor>} */
    this.shown = [];
    this.at = 0;
    /** The prompts are still on their way. @type {Promise<void>|null} */
    this.waiting = null;
    this.box.addEventListener("input", () => this.open && this.#draw());
    this.box.addEventListener("keydown", (event) => this.#pressed(event), { capture: true });
    this.box.addEventListener("blur", () => this.#close());
    // The box keeps the focus.
    this.list.addEventListener("pointerdown", (event) => event.preventDefault());
  }

  get open() {
    return !this.list.hidden;
  }

  show() {
    this.composer.literal = "";
    this.#draw();
    const waiting = this.sources.load().then(() => {
      this.waiting = null;
      if (this.box.value !== this.composer.literal) this.#draw();
    });
    this.waiting = waiting;
  }

  /** Enter, pressed before the list was there. */
  enter() {
    if (this.open) this.#take(this.at);
    else byId("composer", HTMLFormElement).requestSubmit();
  }

  #draw() {
    const chosen = this.shown[this.at];
    const commands = this.sources.commands().filter(({ slash, can }) => slash && (can?.() ?? true));
    this.shown = listFor(this.box.value, commands, this.sources.prompts());
    if (!this.shown.length || document.activeElement !== this.box) return this.#close();
    const same = this.shown.findIndex(
      ({ name, words }) => name === chosen?.name && words === chosen.words,
    );
    this.at = this.box.value === this.drawn && same > 0 ? same : 0;
    this.drawn = this.box.value;
    setChildren(
      this.list,
      this.shown.map(({ name, words, more }, index) =>
        h(
          "div",
          {
            class: "slash-row",
            role: "option",
            id: `slash-${index}`,
            on: { click: () => this.#take(index) },
          },
          name && h("b", {}, `/${name}`),
          h("span", {}, words),
          more && h("small", {}, more),
        ),
      ),
    );
    this.list.hidden = false;
    this.#describe({
      role: "combobox",
      "aria-expanded": "true",
      "aria-controls": ID,
      "aria-autocomplete": "list",
    });
    this.#mark();
  }

  /** @param {Record<string, string|null>} attributes of the box; null: none */
  #describe(attributes) {
    for (const [name, value] of Object.entries(attributes))
      if (value === null) this.box.removeAttribute(name);
      else this.box.setAttribute(name, value);
  }

  #mark() {
    for (const [index, row] of [...this.list.children].entries()) {
      row.setAttribute("aria-selected", String(index === this.at));
      if (index === this.at) row.scrollIntoView({ block: "nearest" });
    }
    this.#describe({ "aria-activedescendant": `slash-${this.at}` });
  }

  #close() {
    if (!this.open) return;
    this.list.hidden = true;
    this.shown = [];
    this.#describe({
      role: null,
      "aria-expanded": null,
      "aria-controls": null,
      "aria-autocomplete": null,
      "aria-activedescendant": null,
    });
  }

  /** @param {KeyboardEvent} event */
  #pressed(event) {
    if (event.isComposing || event.keyCode === 229) return;
    if (!this.open) {
      const early = this.waiting && event.key === "Enter" && /^\/\S+$/.test(this.box.value);
      if (!early || this.box.value === this.composer.literal) return;
      event.preventDefault();
      event.stopImmediatePropagation();
      return void this.waiting?.then(() => this.enter());
    }
    const { command } = this.shown[this.at];
    const by = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (by) this.at = (this.at + by + this.shown.length) % this.shown.length;
    else if (event.key === "Escape") this.composer.literal = this.box.value;
    else if (!["Enter", "Tab"].includes(event.key) || event.shiftKey) return;
    event.preventDefault();
    event.stopImmediatePropagation();
    if (by) this.#mark();
    else if (event.key === "Escape") this.#close();
    else if (event.key === "Tab" && command?.takes) this.#write(`/${command.name} `);
    else this.#take(this.at);
  }

  /** @param {number} index */
  #take(index) {
    const { command, act } = this.shown[index];
    const [, rest = ""] = /^\/\S+\s+(.*)$/u.exec(this.box.value) ?? [];
    if (command?.choices?.().length) return this.#write(`/${command.name} `);
    this.#close();
    if (command) return void this.composer.run(command, rest.trim());
    this.composer.suggest("");
    act?.();
  }

  /** @param {string} text */
  #write(text) {
    this.composer.suggest(text);
    this.#draw();
  }
}
