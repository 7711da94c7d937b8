/** Keyboard shortcuts and their list. They can be switched off, for people whose tools use the same keys. */

import { byId, h, setChildren } from "../elements/dom.js";
import { loadItem, storeItem } from "../net/storage.js";
import { say } from "../words/say.js";

const MAC = /Mac|iPhone|iPad/.test(navigator.platform);

/**
 * @typedef {{name: string, words: string, keys: string[], code: string, shift?: boolean, control?: boolean,
 *   act: () => void}} Shortcut `code` is a `KeyboardEvent.code`, or a `key` where it is one character
 */

export class Shortcuts {
  /**
   * @param {Record<"newChat"|"search"|"focus"|"sidebar"|"panel"|"horizon"|"lastCode"|"newest", () => void>} acts
   * @param {() => void} escape what Esc does; always on
   */
  constructor(acts, escape) {
    const command = MAC ? "⌘" : "Ctrl";
    /** @type {Shortcut[]} */
    this.shortcuts = [
      { name: "new", words: say("New chat"), keys: [command, "Shift", "O"], code: "KeyO", shift: true, control: true, act: acts.newChat },
      { name: "find", words: say("Search conversations"), keys: [command, "K"], code: "KeyK", control: true, act: acts.search },
      { name: "focus", words: say("Go to the message box"), keys: ["Shift", "Esc"], code: "Escape", shift: true, act: acts.focus },
      { name: "side", words: say("Show or hide the sidebar"), keys: [command, "Shift", "S"], code: "KeyS", shift: true, control: true, act: acts.sidebar },
      { name: "panel", words: say("Show or hide the debug panel"), keys: [command, "."], code: "Period", control: true, act: acts.panel },
      { name: "horizon", words: say("Go to the memory line"), keys: [command, "Shift", "↑"], code: "ArrowUp", shift: true, control: true, act: acts.horizon },
      { name: "newest", words: say("Go to the newest message"), keys: [command, "Shift", "↓"], code: "ArrowDown", shift: true, control: true, act: acts.newest },
      { name: "code", words: say("Copy the last code block"), keys: [command, "Shift", ";"], code: "Semicolon", shift: true, control: true, act: acts.lastCode },
      { name: "keys", words: say("Show shortcuts"), keys: [command, "/"], code: "Slash", control: true, act: () => this.show() },
    ];
    this.on = loadItem("shortcuts") !== "off";
    this.escape = escape;
    document.addEventListener("keydown", (event) => this.#pressed(event));
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
    const control = event.ctrlKey || event.metaKey;
    const one = this.shortcuts.find(({ code, shift = false, control: wanted = false }) =>
      code === event.code && shift === event.shiftKey && wanted === control);
    if (!one || document.querySelector("dialog[open]")) return;
    // In a draft the arrows go on selecting lines.
    if (/^Arrow/.test(one.code) && event.target instanceof HTMLTextAreaElement && event.target.value) return;
    event.preventDefault();
    one.act();
  }

  show() {
    const dialog = byId("keys", HTMLDialogElement);
    /** @type {[string, string[]][]} */
    const own = [
      [say("Send"), ["Enter"]],
      [say("New line"), ["Shift", "Enter"]],
      [say("Stop the answer, or close what is open"), ["Esc"]],
      [say("Rename or delete a conversation in the list"), ["F2", "Delete"]],
    ];
    for (const { words, keys } of this.shortcuts) own.push([words, keys]);
    const off = h("input", { type: "checkbox" });
    off.checked = this.on;
    off.addEventListener("change", () => {
      this.on = off.checked;
      storeItem("shortcuts", this.on ? null : "off");
    });
    setChildren(
      dialog,
      h("form", { method: "dialog" },
        h("h2", { id: "keys-title" }, say("Keyboard shortcuts")),
        h("dl", { class: "keys" }, own.map(([words, keys]) => [
          h("dt", {}, words),
          h("dd", {}, keys.map((key) => h("kbd", {}, key))),
        ]).flat()),
        h("label", { class: "keys-on" }, off, say("Enable shortcuts")),
        h("div", { class: "box-foot" }, h("button", { class: "primary" }, say("Close")))),
    );
    dialog.showModal();
  }
}
