/** The message box: it sends, it stops, and it never loses what was typed. */

import { byId, h, put, say } from "./dom.js";
import { keepDraft, readDraft } from "./drafts.js";
import { icon } from "./icons.js";
import { Reply } from "./reply.js";

const TALLEST = 240;
const TOO_LONG = "This text is longer than one message can be (64 KiB). Shorten it or send it in parts; it stays here.";
// Below this no text can be too long, whatever it is made of.
const SHORT = 8_000;

export class Composer {
  /**
   * @param {{send: (said: import("./state.js").Said) => void, stop: () => void, typed: () => void,
   *   fits: (text: string) => boolean}} actions
   */
  constructor(actions) {
    this.actions = actions;
    this.box = /** @type {HTMLTextAreaElement} */ (byId("draft"));
    this.button = /** @type {HTMLButtonElement} */ (byId("send"));
    this.notice = byId("notice");
    this.reply = new Reply(() => this.actions.typed());
    this.conversation = "";
    this.running = false;
    this.sending = false;
    this.closed = false;
    this.said = "";
    this.box.addEventListener("input", () => this.#typed());
    this.box.addEventListener("keydown", (event) => this.#pressed(event));
    byId("composer").addEventListener("submit", (event) => {
      event.preventDefault();
      if (this.running) this.actions.stop();
      else if (!this.sending) this.#send();
    });
  }

  get draft() {
    return this.box.value;
  }

  /** @returns {import("./state.js").Said} what would be sent now */
  get said() {
    return { text: this.box.value, reply: this.reply.quote, attachments: [] };
  }

  /** Another conversation: its own draft. */
  enter(conversation) {
    this.conversation = conversation;
    this.box.value = readDraft(conversation);
    this.reply.enter(conversation);
    this.complain("");
    this.#grow();
    this.#look();
  }

  /** @param {import("./state.js").State} state */
  update(state) {
    const name = state.agent?.name ?? "the agent";
    this.running = state.turn !== null;
    this.sending = state.pending.length > 0;
    this.closed = state.deleted || Boolean(state.agent?.broken);
    if (state.opened && !state.messages.length) this.reply.cancel();
    if (!this.running && !this.sending && this.notice.classList.contains("quiet")) this.complain("");
    if (this.box.placeholder !== `Message ${name}`) this.box.placeholder = `Message ${name}`;
    say(byId("draft-label"), `Message ${name}`);
    this.#look();
  }

  focus() {
    this.box.focus();
  }

  /** Fills the box with a suggestion, for the person to change and send. */
  suggest(text) {
    this.box.value = text;
    this.#typed();
    this.box.focus();
    this.box.setSelectionRange(text.length, text.length);
  }

  /**
   * Begins a reply, or turns what is typed into one; `text` is for an empty box.
   * @param {import("./state.js").Quote} quote
   */
  replyTo(quote, text = "") {
    this.reply.set(quote);
    if (text && !this.box.value.trim()) this.suggest(text);
    this.box.focus();
  }

  /** Puts back what could not be sent, before what was typed since. */
  restore({ text, reply }) {
    if (reply) this.reply.set(reply);
    this.box.value = this.box.value.trim() ? `${text}\n\n${this.box.value}` : text;
    this.#typed();
  }

  /** Shows a sentence above the box; "" takes it away. */
  complain(sentence, { quiet = false } = {}) {
    this.notice.hidden = !sentence;
    this.notice.classList.toggle("quiet", quiet);
    if (this.said === sentence) return;
    this.said = sentence;
    put(this.notice, sentence && icon("warn", 14), sentence && h("span", {}, sentence));
  }

  #send() {
    const text = this.box.value;
    if (!text.trim() || this.closed) return this.focus();
    if (!this.actions.fits(text)) return this.complain(TOO_LONG);
    this.box.value = "";
    this.complain("");
    this.#typed();
    this.actions.send({ text, reply: this.reply.take(), attachments: [] });
  }

  #typed() {
    keepDraft(this.conversation, this.box.value);
    this.#grow();
    this.#look();
    const long = this.box.value.length > SHORT && !this.actions.fits(this.box.value);
    if (long) this.complain(TOO_LONG);
    else if (this.said === TOO_LONG) this.complain("");
    this.actions.typed();
  }

  /** @param {KeyboardEvent} event */
  #pressed(event) {
    // While a word is composed (Japanese, Chinese, Korean), Enter chooses it; Safari says 229.
    if (event.key !== "Enter" || event.isComposing || event.keyCode === 229) return;
    if (event.shiftKey || event.altKey) return;
    // On a touch screen Enter is the only way to a new line.
    if (matchMedia("(hover: none) and (pointer: coarse)").matches && !event.ctrlKey && !event.metaKey) return;
    event.preventDefault();
    if (!this.running && !this.sending) return this.#send();
    if (!this.box.value.trim()) return;
    const why = this.running
      ? "An answer is still being written. Your text stays here; press Esc to stop the answer."
      : "Your last message is still on its way. Your text stays here.";
    this.complain(why, { quiet: true });
  }

  #grow() {
    this.box.style.height = "auto";
    this.box.style.height = `${Math.min(this.box.scrollHeight, TALLEST)}px`;
  }

  #look() {
    const { button } = this;
    say(button, this.running ? "Stop" : "Send");
    button.classList.toggle("stop", this.running);
    button.title = this.running ? "Stop the answer (Esc)" : "Send (Enter)";
    button.disabled = !this.running && (this.closed || this.sending || !this.box.value.trim());
    this.box.readOnly = this.closed;
  }
}
