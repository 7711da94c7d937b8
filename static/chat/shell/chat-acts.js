/** What a command does with the whole chat: forget, remember, rename, export. */

import { showError, toast } from "../elements/toast.js";
import { sendChange } from "../net/http.js";
import { say } from "../words/say.js";

/**
 * @import { Choice } from "../state/keys.js"
 * @import { State } from "../types/state.js"
 * @import { Page } from "../types/page.js"
 */

export class ChatActs {
  /**
   * @param {Page} page
   * @param {{state: () => State, type: (text: string) => void, mark: (id: string) => void}} chat `type` puts a text into
   *   the message box, `mark` forgets what is above a message
   */
  constructor(page, chat) {
    this.page = page;
    this.chat = chat;
  }

  get address() {
    return `${this.page.urls.conversations}/${this.chat.state().conversationId}`;
  }

  get begun() {
    return this.chat.state().conversation !== null;
  }

  get canForget() {
    const { messages, forgetAbove, turn } = this.chat.state();
    return this.begun && !turn && forgetAbove <= (messages.at(-1)?.seq ?? 0);
  }

  get canRemember() {
    return this.chat.state().forgetAbove > 0;
  }

  /** @returns {boolean} whether the chat has begun; if not, says that there is nothing to do */
  #ready() {
    if (!this.begun) toast(say("This chat is still empty."));
    return this.begun;
  }

  /** Nothing that was said so far is sent any more, until it is remembered again. */
  async forget() {
    if (!this.#ready()) return;
    const { messages, forgetAbove } = this.chat.state();
    const before = messages.find(({ seq }) => seq === forgetAbove);
    const path = this.address;
    const undo = () => (before ? this.chat.mark(before.id) : void this.#remember(path));
    const done = await sendChange("POST", `${path}/forget`, { on: true }).catch(showError);
    if (done)
      toast(say("Everything above is forgotten."), {
        label: say("Undo"),
        act: undo,
        about: "forgotten",
      });
  }

  remember() {
    if (this.#ready()) void this.#remember(this.address);
  }

  /** @param {string} path */
  async #remember(path) {
    const done = await sendChange("POST", `${path}/forget`, { on: false }).catch(showError);
    if (done) toast(say("Everything above is remembered again."), { about: "forgotten" });
  }

  /** @param {string} title "": it is still to be written */
  async rename(title) {
    if (!this.#ready()) return false;
    if (!title) return (this.chat.type("/title "), false);
    const path = this.address;
    const before = this.chat.state().conversation?.title ?? "";
    try {
      await sendChange("PATCH", path, { title });
    } catch (error) {
      return (showError(error), false);
    }
    const undo = () => void sendChange("PATCH", path, { title: before }).catch(showError);
    toast(say("Renamed to “{title}”.", { title }), {
      label: say("Undo"),
      act: undo,
      about: "title",
    });
  }

  /** @returns {Choice[]} */
  get exports() {
    return [
      { form: "?format=markdown", words: say("Markdown") },
      { form: "?format=text", words: say("Plain text") },
      { form: "", words: say("A file that can be imported again") },
    ].map(({ form, words }) => ({ words, act: () => this.#download(form) }));
  }

  /** @param {string} form */
  #download(form) {
    const link = document.createElement("a");
    link.href = `${this.address}/export${form}`;
    link.download = "";
    link.click();
  }
}
