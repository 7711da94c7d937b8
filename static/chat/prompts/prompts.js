/** A person's own prompts: kept on the server, called by a slash and their name, written in a window. */

import { closeButton, fillDialog } from "../elements/dialog.js";
import { byId, h, setChildren, setText, textButton } from "../elements/dom.js";
import { emptyState } from "../elements/empty.js";
import { showError } from "../elements/toast.js";
import { getJson, sendChange } from "../net/http.js";
import { blanksOf } from "../state/blanks.js";
import { say } from "../words/say.js";
import { askForBlanks } from "./fill-window.js";

/**
 * @typedef {{id: string, name: string, text: string}} Prompt
 * @typedef {Pick<Prompt, "name"|"text"> & {id?: string}} Draft without an id it is new
 */

const LONGEST_NAME = 40;
const LONGEST_TEXT = 8_000;

export class Prompts {
  /**
   * @param {string} address
   * @param {(text: string) => void} use puts a text into the message box
   */
  constructor(address, use) {
    this.address = address;
    this.use = use;
    /** @type {Prompt[]} */
    this.all = [];
    this.known = false;
    this.dialog = h("dialog", {
      class: "box prompts-box",
      id: "prompts",
      "aria-labelledby": "prompts-title",
    });
    this.note = h("p", { class: "prompts-note", role: "status" });
    document.body.append(this.dialog);
    this.dialog.addEventListener("close", focusBox);
  }

  /** What the slash lists. */
  get choices() {
    return this.all.map((one) => ({
      words: one.name,
      more: one.text.trim().split("\n")[0].slice(0, 80),
      act: () => void this.#call(one),
    }));
  }

  async load() {
    try {
      this.all = (await getJson(this.address)).prompts;
      this.known = true;
    } catch (error) {
      showError(error);
    }
  }

  /** @param {Prompt} prompt */
  async #call({ name, text }) {
    const filled = blanksOf(text).length ? await askForBlanks(name, text) : text;
    if (filled !== null) this.use(filled);
  }

  /**
   * Shows them all, or the form for one.
   * @param {Draft} [draft]
   */
  async open(draft) {
    this.dialog.showModal();
    if (draft) return this.#edit(draft);
    this.#list();
    await this.load();
    if (this.dialog.querySelector(".prompts-list")) this.#list();
  }

  /** @param {import("../elements/dom.js").Child[]} told */
  #list(...told) {
    const add = textButton(say("New prompt"), () => this.#edit({ name: "", text: "" }));
    const none = this.known && !this.all.length;
    setChildren(
      this.note,
      told.length ? told : !none && say("Call one with a slash and its name."),
    );
    fillDialog(
      this.dialog,
      say("Your prompts"),
      [
        this.note,
        none && emptyState("prompts", say("No prompts yet."), add),
        h(
          "ul",
          { class: "prompts-list" },
          this.all.map((one) =>
            h(
              "li",
              {},
              h(
                "span",
                { class: "cut", title: one.text },
                h("b", {}, `/${one.name}`),
                " ",
                one.text,
              ),
              textButton(say("Edit"), () => this.#edit(one), {
                "aria-label": say("Edit “{name}”", { name: one.name }),
              }),
              textButton(say("Delete"), () => this.#remove(one), {
                "aria-label": say("Delete “{name}”", { name: one.name }),
              }),
            ),
          ),
        ),
      ],
      [!none && add, closeButton()],
    );
    (this.note.querySelector("button") ?? add).focus();
  }

  /** @param {Draft} draft */
  #edit(draft) {
    const name = h("input", { maxlength: LONGEST_NAME, autocomplete: "off", required: true });
    const text = h("textarea", { rows: 7, maxlength: LONGEST_TEXT, dir: "auto", required: true });
    [name.value, text.value] = [draft.name, draft.text];
    setText(this.note, "");
    const keep = h("button", { class: "primary", type: "submit" }, say("Save"));
    fillDialog(
      this.dialog,
      draft.id ? say("Change a prompt") : say("New prompt"),
      [
        h("label", { class: "prompts-field" }, say("Name"), name),
        h("label", { class: "prompts-field" }, say("Text"), text),
        h(
          "p",
          { class: "quiet" },
          say("Blanks are asked for: {examples}", {
            examples: "{{topic}}, {{topic=the sea}}, {{tone:friendly|formal}}",
          }),
        ),
        this.note,
      ],
      [textButton(say("Back"), () => this.#list()), keep],
    );
    keep.form?.addEventListener("submit", (event) => {
      event.preventDefault();
      void this.#keep({ ...draft, name: name.value, text: text.value });
    });
    (draft.name ? text : name).focus();
  }

  /** @param {Draft} draft */
  async #keep({ id, name, text }) {
    try {
      const path = id ? `${this.address}/${id}` : this.address;
      const { prompt } = await sendChange(id ? "PUT" : "POST", path, { name, text });
      await this.load();
      this.#list(say("Saved. Call it with /{name}.", { name: prompt.name }));
    } catch (error) {
      setText(this.note, /** @type {Error} */ (error).message);
    }
  }

  /** @param {Prompt} prompt */
  async #remove(prompt) {
    try {
      await sendChange("DELETE", `${this.address}/${prompt.id}`);
    } catch (error) {
      return setText(this.note, /** @type {Error} */ (error).message);
    }
    await this.load();
    const { name, text } = prompt;
    const undo = textButton(say("Undo"), () => this.#keep({ name, text }));
    this.#list(say("Deleted “{name}”.", { name }), " ", undo);
  }
}

/** Chromium gives the focus back, but not the place to type at, where the field that had it is gone. */
function focusBox() {
  const box = byId("draft", HTMLTextAreaElement);
  box.focus();
  box.setSelectionRange(box.value.length, box.value.length);
}
