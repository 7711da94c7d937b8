/** The files of the draft, above the message box: being uploaded, uploaded, or failed. */

import { announce } from "../elements/announce.js";
import { byId, h, setChildren, textButton } from "../elements/dom.js";
import { isPicture } from "../message/attachments.js";
import { fileAddress } from "../net/address.js";
import { keepsNothingOf, loadFiles, storeFiles } from "../net/drafts.js";
import { sendChange } from "../net/http.js";
import { isThere, upload } from "../net/upload.js";
import { formatBytes } from "../state/format.js";
import { attachmentsOf, newFile, release, uploadedFile } from "./draft-file.js";
import { FileChip } from "./file-chip.js";
import { say } from "../words/say.js";

/**
 * @import { DraftFile } from "./draft-file.js"
 * @import { Page } from "../types/page.js"
 * @import { Attachment, Decision } from "../types/wire.js"
 */

const AT_ONCE = 3;

export class FileTray {
  /**
   * @param {Page} page
   * @param {() => void} changed called when files were added, arrived, failed or went
   */
  constructor(page, changed) {
    this.page = page;
    this.changed = changed;
    this.conversation = "";
    /** Uploads go on while another conversation is shown. @type {Map<string, DraftFile[]>} */
    this.all = new Map();
    /** @type {Map<DraftFile, FileChip>} */
    this.chips = new Map();
    this.list = h("ul", { class: "tray", "aria-label": say("Files of your message") });
    this.note = h("p", { class: "tray-note", hidden: true });
    this.forms = h("p", { class: "tray-note quiet", hidden: true });
    this.formsSaid = "";
    this.choose = textButton(say("Choose a model that can"), () => byId("model-open").click());
    byId("draft").before(this.list, this.note, this.forms);
  }

  /** @returns {DraftFile[]} */
  get pieces() {
    return this.all.get(this.conversation) ?? [];
  }

  get attachments() {
    return attachmentsOf(this.pieces);
  }

  get empty() {
    return this.pieces.length === 0;
  }

  get busy() {
    return this.pieces.some(({ state }) => state === "waiting" || state === "sending");
  }

  get failed() {
    return this.pieces.filter(({ state }) => state === "failed");
  }

  /** Takes out the files that failed. */
  removeFailed() {
    const { failed } = this;
    for (const piece of failed) release(piece);
    this.showNote("");
    this.#become(
      this.conversation,
      this.pieces.filter((piece) => !failed.includes(piece)),
    );
    this.changed();
  }

  /** @param {string} conversation */
  enter(conversation) {
    this.conversation = conversation;
    if (!this.all.has(conversation)) {
      const stored = loadFiles(conversation).map(uploadedFile);
      this.all.set(conversation, stored);
      for (const piece of stored) void this.#check(conversation, piece);
    }
    this.showNote("");
    this.#draw();
  }

  /** @param {File[]} files */
  add(files) {
    const room = this.page.max_attachments - this.pieces.length;
    const taken = files
      .slice(0, Math.max(0, room))
      .map((file) => newFile(file, this.page.max_attachment_bytes));
    const left = files.slice(taken.length).map(({ name }) => name);
    this.all.set(this.conversation, [...this.pieces, ...taken]);
    this.showNote(
      left.length
        ? say("A message takes {most} files. Not added: {left}.", {
            most: this.page.max_attachments,
            left: left.join(", "),
          })
        : "",
    );
    const going = taken.filter(({ state }) => state === "waiting");
    if (going.length)
      announce(
        say("Uploading {files}.", {
          files: going.map(({ name, size }) => `${name}, ${formatBytes(size)}`).join("; "),
        }),
      );
    this.#next();
    this.#draw();
    this.list.scrollTop = this.list.scrollHeight;
    this.changed();
  }

  /** Takes the uploaded files out, to be sent. */
  take() {
    const { attachments } = this;
    for (const piece of this.pieces) release(piece);
    this.showNote("");
    this.#become(this.conversation, []);
    return attachments;
  }

  /** @param {Attachment[]} attachments of a message that was not sent, or is sent again */
  restore(attachments) {
    const known = this.attachments.map(({ id }) => id);
    const back = attachments.filter(({ id }) => !known.includes(id)).map(uploadedFile);
    if (!back.length) return;
    for (const piece of back) void this.#check(this.conversation, piece);
    this.#become(this.conversation, [...back, ...this.pieces]);
  }

  /**
   * Shows a sentence below the files; "" removes it.
   * @param {string} sentence
   */
  showNote(sentence) {
    setChildren(this.note, sentence);
    this.note.hidden = !sentence;
    if (sentence) announce(sentence);
  }

  /** @param {Decision|null} decision that says how each file is put into the next request */
  showForms(decision) {
    const { files: sentences = [], another_model: another = false } = decision ?? {};
    this.forms.hidden = sentences.length === 0 || this.empty;
    const choose = another && !byId("model-open").hidden && this.choose;
    const said = [...sentences, Boolean(choose)].join(" ");
    // The same again would take the focus from its button.
    if (said === this.formsSaid) return;
    this.formsSaid = said;
    setChildren(this.forms, sentences.join(" "), choose && " ", choose);
  }

  /** Begins uploads that wait, in every conversation, at most `AT_ONCE` at a time. */
  #next() {
    const all = [...this.all.values()].flat();
    let free = AT_ONCE - all.filter(({ state }) => state === "sending").length;
    for (const piece of all) {
      if (free <= 0) return;
      if (piece.state !== "waiting") continue;
      free -= 1;
      this.#begin(piece);
    }
  }

  /** @param {DraftFile} piece */
  #begin(piece) {
    piece.state = "sending";
    const temporary = keepsNothingOf(this.conversation) ? this.conversation : "";
    piece.flight = upload(/** @type {File} */ (piece.file), temporary, {
      progress: (percent) => {
        piece.percent = percent;
        this.chips.get(piece)?.update();
      },
      there: (attachment) => {
        const { id, name, size } = attachment;
        Object.assign(piece, { state: "there", attachment, name, size, flight: null });
        if (!piece.picture && isPicture(attachment)) piece.picture = fileAddress(id);
        this.#ended(piece, say("{name} is attached.", { name }));
      },
      failed: (problem, again) => {
        Object.assign(piece, { state: "failed", problem, again, flight: null });
        this.#ended(
          piece,
          say("{name} was not uploaded. {problem}", { name: piece.name, problem }),
        );
      },
    });
  }

  /**
   * @param {DraftFile} piece
   * @param {string} sentence
   */
  #ended(piece, sentence) {
    const [conversation] = [...this.all].find(([, pieces]) => pieces.includes(piece)) ?? [
      this.conversation,
    ];
    this.#become(conversation, this.all.get(conversation) ?? []);
    if (conversation === this.conversation) announce(sentence);
    if (piece.problem) this.chips.get(piece)?.element.scrollIntoView({ block: "nearest" });
    this.#next();
    this.changed();
  }

  /** @param {DraftFile} piece */
  #again(piece) {
    Object.assign(piece, { state: "waiting", percent: 0, problem: "" });
    announce(say("Uploading {name} again.", { name: piece.name }));
    this.#next();
    this.#draw();
    this.changed();
  }

  /**
   * Removes a file from the draft, whatever the state of its upload.
   * @param {DraftFile} piece
   */
  #remove(piece) {
    const at = this.pieces.indexOf(piece);
    piece.flight?.cancel();
    // If that fails, the server deletes the file by itself after a time.
    if (piece.attachment) sendChange("DELETE", fileAddress(piece.attachment.id)).catch(() => {});
    this.showNote("");
    announce(
      piece.attachment
        ? say("{name} is removed.", { name: piece.name })
        : say("The upload of {name} is cancelled.", { name: piece.name }),
    );
    release(piece);
    this.#become(
      this.conversation,
      this.pieces.filter((one) => one !== piece),
    );
    const next = this.pieces[Math.min(at, this.pieces.length - 1)];
    if (next) this.chips.get(next)?.focus();
    else byId("draft").focus();
    this.#next();
    this.changed();
  }

  /**
   * @param {string} conversation
   * @param {DraftFile} piece
   */
  async #check(conversation, piece) {
    if (!piece.attachment || (await isThere(fileAddress(piece.attachment.id)))) return;
    const left = (this.all.get(conversation) ?? []).filter((one) => one !== piece);
    this.#become(conversation, left);
    if (conversation === this.conversation)
      this.showNote(say("{name} is no longer on the server. Add it again.", { name: piece.name }));
    this.changed();
  }

  /**
   * @param {string} conversation
   * @param {DraftFile[]} pieces
   */
  #become(conversation, pieces) {
    this.all.set(conversation, pieces);
    storeFiles(conversation, attachmentsOf(pieces));
    if (conversation === this.conversation) this.#draw();
  }

  #draw() {
    const { pieces } = this;
    for (const piece of this.chips.keys()) if (!pieces.includes(piece)) this.chips.delete(piece);
    for (const piece of pieces) {
      if (this.chips.has(piece)) this.chips.get(piece)?.update();
      else
        this.chips.set(
          piece,
          new FileChip(piece, {
            remove: () => this.#remove(piece),
            again: () => this.#again(piece),
          }),
        );
    }
    const elements = pieces.map((piece) => /** @type {FileChip} */ (this.chips.get(piece)).element);
    for (const old of [...this.list.children])
      if (!elements.includes(/** @type {HTMLLIElement} */ (old))) old.remove();
    for (const one of elements) if (!one.isConnected) this.list.append(one);
    this.list.hidden = pieces.length === 0;
    if (!pieces.length) this.forms.hidden = true;
  }
}
