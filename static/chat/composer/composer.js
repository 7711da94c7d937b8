/** The message box: it sends, it stops, and it never loses a draft. */

import { announce } from "../elements/announce.js";
import { byId, h, setChildren, setText, textButton } from "../elements/dom.js";
import { icon } from "../elements/icons.js";
import { loadDraft, storeDraft } from "../net/drafts.js";
import { byteLength, formatBytes } from "../state/format.js";
import { describeFailed } from "./draft-file.js";
import { onFilesChosen, onFilesDropped, onPaste, textFile } from "./file-intake.js";
import { describeCosts, describePrice } from "../state/price.js";
import { tokensTooMany } from "../state/state.js";
import { say } from "../words/say.js";
import { FileTray } from "./file-tray.js";
import { ReplyBar } from "./reply.js";

/**
 * @import { Command } from "../state/keys.js"
 * @import { Page } from "../types/page.js"
 * @import { Confirmed, Draft, State } from "../types/state.js"
 * @import { Attachment, Costs, Decision, Quote } from "../types/wire.js"
 */

const TALLEST = 240;
const TOO_LONG = say("This is longer than one message can be (64 KiB). It stays here.");
const WAITS = say("It will be sent when the uploads finish.");
// Below this no text can be too long, whatever it is made of.
const SHORT = 8_000;

export class Composer {
  /**
   * @param {Page} page
   * @param {{send: (draft: Draft, confirmed: Confirmed) => void, queue: (draft: Draft) => boolean, stop: () => void, typed: () => void,
   *   fits: (text: string) => boolean, command: (text: string) => {command: Command, rest: string}|null}} actions
   */
  constructor(page, actions) {
    this.actions = actions;
    this.box = byId("draft", HTMLTextAreaElement);
    this.button = byId("send", HTMLButtonElement);
    this.stop = byId("stop", HTMLButtonElement);
    this.file = byId("attach", HTMLButtonElement);
    this.notice = byId("notice");
    this.reply = new ReplyBar(() => {
      this.#forgetQuestion();
      this.actions.typed();
    });
    this.tray = new FileTray(page, () => this.#filesChanged());
    this.conversation = "";
    this.running = false;
    this.sending = false;
    this.closed = false;
    /** @type {{decision: Decision|null, why: string, size: number, files: number}|null} the draft that can't be sent, and why */
    this.tooLarge = null;
    // The message is sent by itself once its files are uploaded.
    this.waits = false;
    this.shown = "";
    // What was said last of files that can't be sent.
    this.refused = "";
    /** A text that looks like a command and is to be sent as it is. */
    this.literal = "";
    /** The draft whose price is asked about, as JSON. @type {string|null} */
    this.asked = null;
    this.box.addEventListener("input", () => this.#typed());
    this.box.addEventListener("keydown", (event) => this.#pressed(event));
    byId("composer").addEventListener("submit", (event) => {
      event.preventDefault();
      if (this.waits) this.#wait(false);
      else this.#send();
    });
    setChildren(this.stop, icon("stop", 13), h("span", { class: "hidden" }, say("Stop")));
    this.name = h("span", { class: "hidden" });
    setChildren(this.button, icon("send", 17), this.name);
    // Whoever sends with the pointer goes on writing: the button takes no focus from the box.
    this.button.addEventListener("mousedown", (event) => event.preventDefault());
    this.stop.title = say("Stop the answer (Esc)");
    this.stop.addEventListener("click", () => (this.actions.stop(), this.box.focus()));
    this.#takeFiles();
  }

  /** @returns {Draft} */
  get draft() {
    return { text: this.box.value, reply: this.reply.quote, attachments: this.tray.attachments };
  }

  /**
   * Shows the draft of another conversation.
   * @param {string} conversation
   */
  enter(conversation) {
    this.waits = false;
    this.conversation = conversation;
    this.box.value = loadDraft(conversation);
    this.reply.enter(conversation);
    this.tray.enter(conversation);
    this.showNotice("");
    this.fitHeight();
    this.updateButtons();
  }

  /** @param {State} state */
  update(state) {
    const name = state.agent?.name ?? say("the agent");
    this.running = state.turn !== null;
    this.sending = state.pending.length > 0;
    this.closed = state.deleted || Boolean(state.agent?.broken);
    if (state.opened && !state.messages.length) this.reply.cancel();
    this.#measured(state);
    const why = this.running || this.sending || this.waits;
    if (!why && !state.problem && this.notice.classList.contains("quiet")) this.showNotice("");
    const placeholder = state.agent?.placeholder || say("Message {name}", { name });
    if (this.box.placeholder !== placeholder) this.box.placeholder = placeholder;
    setText(byId("draft-label"), say("Message {name}", { name }));
    this.tray.showForms(state.decision);
    this.updateButtons();
  }

  /**
   * Notes whether what is written has room. Before the next figures are here, less of it may have.
   * @param {State} state
   */
  #measured({ opened, decision, problem }) {
    const over = opened && problem && tokensTooMany(decision) > 0;
    const known = this.tooLarge?.decision === decision;
    if (!over) this.tooLarge = null;
    else if (!known)
      this.tooLarge = {
        decision,
        why: problem.message,
        size: this.box.value.length,
        files: this.tray.attachments.length,
      };
  }

  /** Why what is written can't be sent; "" where it can. */
  get #obstacle() {
    if (this.box.value.length > SHORT && !this.actions.fits(this.box.value)) return TOO_LONG;
    const { tooLarge, box, tray } = this;
    return tooLarge &&
      box.value.length >= tooLarge.size &&
      tray.attachments.length >= tooLarge.files
      ? tooLarge.why
      : "";
  }

  focus() {
    this.box.focus();
  }

  /**
   * Fills the box with a suggestion, for the person to change and send.
   * @param {string} text
   * @param {Attachment[]} [attachments] files that the server has
   */
  suggest(text, attachments = []) {
    this.tray.restore(attachments);
    this.box.value = text;
    this.#typed();
    this.box.focus();
    this.box.setSelectionRange(text.length, text.length);
  }

  /**
   * Begins a reply, or turns what is typed into one; `text` is for an empty box.
   * @param {Quote} quote
   */
  replyTo(quote, text = "") {
    this.reply.set(quote);
    if (text && !this.box.value.trim()) this.suggest(text);
    this.box.focus();
  }

  /**
   * Puts a draft that could not be sent back, before what was typed since.
   * @param {Draft} draft
   */
  restore({ text, reply, attachments }) {
    if (reply) this.reply.set(reply);
    this.tray.restore(attachments ?? []);
    this.box.value = [text, this.box.value].filter((one) => one.trim()).join("\n\n");
    this.#typed();
  }

  /**
   * Shows a sentence above the box, with its actions; "" removes it.
   * @param {string} sentence
   * @param {{quiet?: boolean, actions?: [string, () => void][]}} [options]
   */
  showNotice(sentence, { quiet = false, actions = [] } = {}) {
    this.notice.hidden = !sentence;
    this.notice.classList.toggle("quiet", quiet);
    this.notice.classList.remove("question");
    this.asked = null;
    if (this.shown === sentence) return;
    this.shown = sentence;
    setChildren(
      this.notice,
      sentence && icon("warn", 14),
      sentence && h("span", {}, sentence),
      actions.map(([label, act]) => textButton(label, act)),
    );
  }

  /**
   * Asks before a dear message is sent; it stays in the box.
   * @param {Costs} costs
   */
  ask(costs) {
    const { cheaper } = costs;
    const send = (/** @type {Confirmed} */ confirmed) => {
      this.#send({ confirmed: true, ...confirmed });
      this.box.focus();
    };
    /** @type {[string, () => void][]} */
    const actions = [[say("Send it"), () => send({})]];
    if (cheaper) {
      const words = { policy: cheaper.words, price: describePrice(cheaper.price) };
      const { once } = cheaper;
      actions.push([say("Send it with {policy}: {price}", words), () => send({ once })]);
    }
    actions.push([say("Cancel"), () => (this.cancel(), this.box.focus())]);
    this.shown = "";
    this.showNotice(describeCosts(costs), { actions });
    this.notice.classList.add("question");
    this.asked = JSON.stringify(this.draft);
  }

  /** A price that was told holds for this draft alone. */
  #forgetQuestion() {
    if (this.asked !== null && this.asked !== JSON.stringify(this.draft)) this.showNotice("");
  }

  /**
   * Gives up the question or the reply.
   * @returns {boolean} whether there was one
   */
  cancel() {
    if (this.asked === null) return this.reply.cancel();
    this.showNotice("");
    return true;
  }

  /** Files come from the button, are dropped on the chat, or pasted. */
  #takeFiles() {
    /** @param {File[]} files */
    const add = (files) => {
      if (this.closed) return;
      this.tray.add(files);
      this.box.focus();
    };
    this.file.prepend(icon("plus", 18));
    onFilesChosen(this.file, add);
    onFilesDropped({ add, refuse: (sentence) => this.tray.showNote(sentence) });
    onPaste((event, files) => {
      if (files.length) event.preventDefault();
      if (files.length) add(files);
      else this.#pasted(event);
    });
  }

  /**
   * Pasted text that is too long for a message becomes a file.
   * @param {ClipboardEvent} event
   */
  #pasted(event) {
    const text = event.clipboardData?.getData("text/plain") ?? "";
    const { selectionStart: from, selectionEnd: to, value } = this.box;
    const whole = value.slice(0, from) + text + value.slice(to);
    if (
      this.closed ||
      event.target !== this.box ||
      whole.length <= SHORT ||
      this.actions.fits(whole)
    )
      return;
    event.preventDefault();
    this.#addText(text);
  }

  /** @param {string} text */
  #addText(text) {
    const file = textFile(
      text,
      this.tray.pieces.map(({ name }) => name),
    );
    this.tray.add([file]);
    this.tray.showNote(
      say("The text is too long for a message ({size}), so it became the file “{name}”.", {
        size: formatBytes(byteLength(text)),
        name: file.name,
      }),
    );
  }

  offerFile() {
    const makeFile = () => {
      this.#addText(this.box.value);
      this.box.value = "";
      this.#typed();
      this.box.focus();
    };
    this.showNotice(TOO_LONG, { actions: [[say("Make it a file"), makeFile]] });
  }

  /** @param {Confirmed} [confirmed] */
  #send(confirmed = {}) {
    const { text } = this.draft;
    if (this.closed || (!text.trim() && this.tray.empty)) return this.focus();
    const called = text === this.literal ? null : this.actions.command(text);
    if (called) return void this.run(called.command, called.rest);
    if (!this.actions.fits(text)) return this.offerFile();
    if (this.#obstacle) return this.showNotice(this.#obstacle, { quiet: true });
    if (this.tray.failed.length) return this.#offerWithout();
    if (this.tray.busy) return this.#wait(true);
    const { draft, busy } = this;
    if (busy && !this.actions.queue(draft))
      return this.showNotice(say("Twenty messages wait already. This one stays in the box."));
    if (!busy) this.actions.send(draft, confirmed);
    this.waits = false;
    this.showNotice("");
    this.box.value = "";
    this.reply.take();
    this.tray.take();
    this.#typed();
  }

  /**
   * Does what the box asks for. A command with a text stays there until it is done.
   * @param {Command} command
   * @param {string} rest
   */
  async run(command, rest) {
    const text = this.box.value;
    if (!command.takes) this.suggest("");
    const done = await command.act(rest);
    if (command.takes && done !== false && this.box.value === text) this.suggest("");
  }

  /** Says why the message isn't sent: nobody asked for it without its files. */
  #offerWithout() {
    const { failed, attachments, busy } = this.tray;
    const left = this.box.value.trim() || attachments.length || busy;
    this.refused = describeFailed(failed);
    const label = !left
      ? say("Remove")
      : failed.length === 1
        ? say("Send without it")
        : say("Send without them");
    const without = () => {
      this.tray.removeFailed();
      this.#send();
    };
    this.showNotice(this.refused, { actions: [[label, without]] });
    announce(this.refused);
  }

  /** @param {boolean} on whether the message is sent by itself once its files are uploaded */
  #wait(on) {
    this.waits = on;
    this.showNotice(on ? WAITS : "", { quiet: true });
    if (!on) announce(say("Sending is cancelled."));
    this.updateButtons();
  }

  #filesChanged() {
    if (this.waits && !this.tray.busy) {
      this.waits = false;
      this.showNotice("");
      this.#send();
    }
    if (this.shown && this.shown === this.refused && !this.tray.failed.length) this.showNotice("");
    this.#forgetQuestion();
    this.updateButtons();
    this.actions.typed();
  }

  /** What is sent now waits for the end of the answer. */
  get busy() {
    return this.running || this.sending;
  }

  #typed() {
    storeDraft(this.conversation, this.box.value);
    if (this.waits) this.#wait(false);
    this.fitHeight();
    this.updateButtons();
    const long = this.box.value.length > SHORT && !this.actions.fits(this.box.value);
    if (long) this.offerFile();
    else if (this.shown === TOO_LONG) this.showNotice("");
    this.#forgetQuestion();
    this.actions.typed();
  }

  /** @param {KeyboardEvent} event */
  #pressed(event) {
    // While a word is composed (Japanese, Chinese, Korean), Enter chooses it; Safari says 229.
    if (event.key !== "Enter" || event.isComposing || event.keyCode === 229) return;
    if (event.shiftKey || event.altKey) return;
    // A touch screen has no other key for a new line.
    if (
      matchMedia("(hover: none) and (pointer: coarse)").matches &&
      !event.ctrlKey &&
      !event.metaKey
    )
      return;
    event.preventDefault();
    this.#send();
  }

  fitHeight() {
    this.box.style.height = "auto";
    this.box.style.height = `${Math.min(this.box.scrollHeight, TALLEST)}px`;
  }

  updateButtons() {
    const { button } = this;
    this.stop.hidden = !this.running;
    setText(this.name, this.waits ? say("Waiting…") : this.busy ? say("Send next") : say("Send"));
    const obstacle = this.#obstacle;
    button.title = obstacle
      ? obstacle
      : this.waits
        ? say("Cancel sending")
        : this.busy
          ? say("Send when the answer is complete (Enter)")
          : say("Send (Enter)");
    button.classList.toggle("next", this.busy);
    button.disabled =
      this.closed || Boolean(obstacle) || (!this.box.value.trim() && this.tray.empty);
    this.box.readOnly = this.closed;
    this.file.disabled = this.closed;
  }
}
