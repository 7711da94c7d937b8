/** Restoring a saved chat: a line with its progress, for files that take longer than a moment. */

import { announce } from "../elements/announce.js";
import { h, setText, textButton } from "../elements/dom.js";
import { showError, toast } from "../elements/toast.js";
import { getJson, sendChange } from "../net/http.js";
import { formatNumber, say } from "../words/say.js";

/**
 * @import { Page } from "../types/page.js"
 * @import { Conversation, Import } from "../types/wire.js"
 */

const PAUSE = 700;

export class RestoreLine {
  /**
   * @param {Page} page
   * @param {(conversation: Conversation) => void} restored
   */
  constructor(page, restored) {
    this.page = page;
    this.restored = restored;
    this.words = h("span", {});
    this.progress = h("progress", { max: "1", "aria-label": say("Importing a chat") });
    this.element = h(
      "div",
      { class: "restoring", hidden: true },
      this.words,
      this.progress,
      textButton(say("Cancel"), () => this.#cancel()),
    );
    if (page.restoring) void this.#follow();
  }

  /** @param {File} file */
  async start(file) {
    const form = new FormData();
    form.append("file", file);
    try {
      const answer = await sendChange("POST", this.page.urls.import, form);
      if (answer.conversation) this.#end(answer.conversation, answer.note);
      else {
        this.#show(answer.import);
        announce(this.words.textContent ?? "");
        await this.#follow();
      }
    } catch (error) {
      showError(error);
    }
  }

  /** Asks how far it is until it has ended; a request that fails is made again. */
  async #follow() {
    for (;;) {
      const found = await this.#ask();
      if (found === null || found.conversation || found.problem) return this.#ended(found);
      this.#show(found);
      await new Promise((done) => setTimeout(done, PAUSE));
    }
  }

  /** @returns {Promise<Import|null>} */
  async #ask() {
    for (;;) {
      try {
        return (await getJson(this.page.urls.import_progress)).import;
      } catch {
        await new Promise((done) => setTimeout(done, 4 * PAUSE));
      }
    }
  }

  /** @param {Import|null} found */
  #ended(found) {
    this.element.hidden = true;
    if (found?.problem) showError(new Error(found.problem.message));
    else if (found?.conversation) this.#end(found.conversation, found.note);
  }

  /** @param {Import} found */
  #show({ title, done, count }) {
    this.element.hidden = false;
    setText(
      this.words,
      count
        ? say("Importing “{title}”: {done} of {count} messages", {
            title,
            done: formatNumber(done),
            count: formatNumber(count),
          })
        : say("Reading the file…"),
    );
    if (count) this.progress.value = done / count;
    else this.progress.removeAttribute("value");
  }

  /**
   * @param {Conversation} conversation
   * @param {string} note
   */
  #end(conversation, note) {
    toast(
      say("Imported “{title}”. {note}", { title: conversation.title, note }).trim(),
      note ? { seconds: 20 } : {},
    );
    this.restored(conversation);
  }

  async #cancel() {
    try {
      await sendChange("DELETE", this.page.urls.import_progress);
      toast(say("Cancelled. Nothing was imported."));
    } catch (error) {
      showError(error);
    }
  }
}
