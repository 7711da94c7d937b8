/** A message's text in a box of its own, in the message's place. */

import { h, pressable, setChildren, setText } from "../elements/dom.js";
import { icon } from "../elements/icons.js";
import { say } from "../words/say.js";

/** @import { Attachment } from "../types/wire.js" */

/**
 * `send` is null where the text can only be corrected.
 * @typedef {{text: string, attachments: Attachment[], about: string,
 *   send: ((text: string, files: Attachment[]) => void)|null, save: (text: string) => void,
 *   cancel: () => void}} Editing
 */

const TALLEST = 420;

export class MessageEditor {
  /** @param {Editing} editing */
  constructor(editing) {
    this.editing = editing;
    this.files = [...editing.attachments];
    this.box = h("textarea", {
      class: "editor-text",
      dir: "auto",
      rows: "1",
      "aria-label": say("The message's text"),
    });
    this.box.value = editing.text;
    this.note = h("p", { class: "editor-note" }, editing.about);
    this.problem = h("p", { class: "editor-problem", role: "alert", hidden: true });
    this.chips = h("div", { class: "editor-files" });
    /** @type {HTMLButtonElement[]} */
    this.buttons = [
      ...(editing.send
        ? [this.#button(say("Send"), say("Send (Ctrl+Enter)"), () => this.send(), "primary")]
        : []),
      this.#button(
        editing.send ? say("Save, no new answer") : say("Save"),
        say("Save the text without asking again (Ctrl+S)"),
        () => this.save(),
        editing.send ? "" : "primary",
      ),
      this.#button(say("Cancel"), say("Leave it as it was (Esc)"), () => editing.cancel()),
    ];
    this.element = h(
      "div",
      { class: "editor", role: "group", "aria-label": say("Edit the message") },
      this.box,
      this.chips,
      this.problem,
      h("div", { class: "editor-foot" }, this.note, this.buttons),
    );
    this.box.addEventListener("input", () => this.#changed());
    this.element.addEventListener("keydown", (event) => this.#pressed(event));
    this.#drawFiles();
  }

  /** Call this once it is in the page. */
  open() {
    this.#fit();
    this.#changed();
    this.box.focus();
    this.box.setSelectionRange(this.box.value.length, this.box.value.length);
    // Where the message begins stays in sight, too: its author and the edge of the box.
    const row = this.element.closest("article") ?? this.element;
    row.scrollIntoView({ block: row.clientHeight < innerHeight / 2 ? "nearest" : "start" });
  }

  get changed() {
    return (
      this.box.value !== this.editing.text || this.files.length < this.editing.attachments.length
    );
  }

  send() {
    if (this.#ready()) this.editing.send?.(this.box.value, this.files);
  }

  save() {
    if (!this.#ready()) return;
    if (this.changed) this.editing.save(this.box.value);
    else this.editing.cancel();
  }

  /**
   * While the server answers nothing can be pressed twice.
   * @param {boolean} busy
   * @param {string} [problem] why it was refused
   */
  wait(busy, problem = "") {
    this.busy = busy;
    this.box.readOnly = busy;
    this.problem.hidden = !problem;
    setText(this.problem, problem);
    this.#changed();
  }

  #ready() {
    return !this.busy && Boolean(this.box.value.trim() || this.files.length);
  }

  /**
   * @param {string} label
   * @param {string} title
   * @param {() => void} act
   * @param {string} [kind]
   */
  #button(label, title, act, kind = "") {
    return pressable({ class: `editor-button ${kind}`, title }, act, label);
  }

  #changed() {
    this.#fit();
    const empty = !this.box.value.trim() && !this.files.length;
    for (const button of this.buttons.slice(0, -1)) button.disabled = Boolean(this.busy) || empty;
  }

  #fit() {
    this.box.style.height = "auto";
    this.box.style.height = `${Math.min(this.box.scrollHeight + 2, TALLEST)}px`;
  }

  #drawFiles() {
    this.chips.hidden = !this.files.length;
    setChildren(
      this.chips,
      this.files.map((file) =>
        h(
          "span",
          { class: "editor-file" },
          h("span", {}, file.name),
          this.editing.send &&
            pressable(
              { "aria-label": say("Take {name} off the message", { name: file.name }) },
              () => this.#remove(file),
              icon("close", 12),
            ),
        ),
      ),
    );
  }

  /** @param {Attachment} file */
  #remove(file) {
    this.files = this.files.filter((one) => one !== file);
    this.#drawFiles();
    this.#changed();
    this.box.focus();
  }

  /** @param {KeyboardEvent} event */
  #pressed(event) {
    if (event.isComposing || event.keyCode === 229) return;
    const control = event.ctrlKey || event.metaKey;
    if (event.key === "Escape") this.editing.cancel();
    else if (control && event.key === "Enter") this.editing.send ? this.send() : this.save();
    else if (control && event.key.toLowerCase() === "s") this.save();
    else return;
    event.preventDefault();
    event.stopPropagation();
  }
}
