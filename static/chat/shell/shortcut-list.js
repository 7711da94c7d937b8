/** The list of shortcuts, where each can be changed: press its keys, then the new ones. */

import { announce } from "../elements/announce.js";
import { closeButton, fillDialog } from "../elements/dialog.js";
import { byId, h, pressable, setText, textButton } from "../elements/dom.js";
import { isModifier, keysOf, whyNotKeys } from "../state/keys.js";
import { say } from "../words/say.js";
import { keyNames } from "./shortcuts.js";

/**
 * @import { Command } from "../state/keys.js"
 * @import { Shortcuts } from "./shortcuts.js"
 */

export class ShortcutList {
  /** @param {Shortcuts} shortcuts */
  constructor(shortcuts) {
    this.shortcuts = shortcuts;
    this.dialog = byId("keys", HTMLDialogElement);
    this.note = h("p", { class: "keys-note", role: "status" });
    this.listening = "";
    this.dialog.addEventListener("keydown", (event) => this.#pressed(event), { capture: true });
    this.dialog.addEventListener("close", () => (this.listening = ""));
  }

  show() {
    this.#draw();
    this.dialog.showModal();
  }

  #draw(note = "") {
    /** @type {[string, string[]][]} */
    const fixed = [
      [say("Send"), ["Enter"]],
      [say("New line"), ["Shift", "Enter"]],
      [say("Edit your last message, in an empty box"), ["↑"]],
      [say("In an edited message: send it · only save it"), ["Ctrl", "Enter", "·", "Ctrl", "S"]],
      [say("Stop the answer, or close what is open"), ["Esc"]],
      [say("Rename or delete a conversation in the list"), ["F2", "·", "Delete"]],
      [say("Its menu · undo, in the list"), ["Shift", "F10", "·", "Ctrl", "Z"]],
      [say("Select it · one more"), [say("Space"), "·", "Shift", "↓"]],
    ];
    const on = h("input", { type: "checkbox" });
    on.checked = this.shortcuts.on;
    on.addEventListener("change", () => this.shortcuts.switch(on.checked));
    const reset = textButton(say("Reset all"), () => {
      this.shortcuts.reset();
      this.#draw(say("Every shortcut is as it was at first."));
    });
    setText(this.note, note || say("Press a shortcut here to change it."));
    const rows = [
      ...this.shortcuts.commands.map((one) => ({ words: one.words, keys: this.#button(one) })),
      ...fixed.map(([words, keys]) => ({ words, keys: keys.map(keyCap) })),
    ];
    fillDialog(
      this.dialog,
      say("Keyboard shortcuts"),
      [
        this.note,
        h(
          "dl",
          { class: "keys" },
          rows.flatMap(({ words, keys }) => [h("dt", {}, words), h("dd", {}, keys)]),
        ),
        h("label", { class: "keys-on" }, on, say("Enable shortcuts")),
      ],
      [reset, closeButton()],
    );
  }

  /** @param {Command} command */
  #button(command) {
    const { name, words, keys } = command;
    const label = keys
      ? say("{command}: {keys}. Change", { command: words, keys: keyNames(keys).join(" ") })
      : say("{command}: no keys. Change", { command: words });
    return pressable(
      { class: "keys-change", "aria-label": label, "data-name": name },
      () => this.#listen(command),
      keys ? keyNames(keys).map(keyCap) : "–",
    );
  }

  /** @param {Command} command */
  #listen({ name, words }) {
    this.listening = name;
    const note = say("Press the new keys for “{command}”. Esc leaves them as they are.", {
      command: words,
    });
    setText(this.note, note);
    announce(note);
  }

  /** @param {KeyboardEvent} event */
  #pressed(event) {
    const command = this.shortcuts.commands.find(({ name }) => name === this.listening);
    if (!command || isModifier(event)) return;
    event.preventDefault();
    event.stopPropagation();
    if (event.key === "Escape") return this.#end(command, say("Nothing was changed."));
    const keys = keysOf(event);
    const refused = whyNotKeys(this.shortcuts.commands, command, keys);
    if (refused) return setText(this.note, refused);
    this.shortcuts.change(command, keys);
    this.#end(command, say("Changed. It is kept in this browser."));
  }

  /**
   * @param {Command} command
   * @param {string} note
   */
  #end({ name }, note) {
    this.listening = "";
    this.#draw(note);
    /** @type {HTMLElement|null} */ (this.dialog.querySelector(`[data-name="${name}"]`))?.focus();
  }
}

/** @param {string} key */
const keyCap = (key) => (key === "·" ? key : h("kbd", {}, key));
