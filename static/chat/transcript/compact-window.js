/** Compacting by hand: a window that shows first what a summary would stand for, what it frees and what it loses. */

import { byId, setChildren, setText } from "../elements/dom.js";
import { showError } from "../elements/toast.js";
import { queryString } from "../net/address.js";
import { sendChange } from "../net/http.js";
import {
  describeDraft,
  describeFreed,
  describeWriter,
  describeWriting,
} from "../state/compaction.js";
import { formatDuration } from "../state/format.js";
import { say, sayCount } from "../words/say.js";
import { CompactTurns } from "./compact-turns.js";
import { recall, tellCompacted } from "./compact-undo.js";
import { LostChips } from "./lost-chips.js";

/**
 * @import { CompactDraft, CompactPlan, Page, SummaryVersions } from "../types/page.js"
 * @import { State } from "../types/state.js"
 */

/**
 * What somebody chose and wrote; closing the window with Esc keeps it. `text` is null for the draft without a model, `told`
 * says where another one comes from; `former` is the one before; `part` and `soFar`: what there is of a model's draft.
 * @typedef {{text: string|null, by: string, told: string}} Text
 * @typedef {Text & {without: Set<number>, to: number|null, keep: string, former: Text|null, part: number,
 *   soFar: string}} Work
 */

// Milliseconds without a key until a text is measured.
const PAUSE = 400;

export class CompactWindow {
  /** @param {{page: Page, state: () => State, model: () => string}} given */
  constructor({ page, state, model }) {
    this.page = page;
    this.state = state;
    this.model = model;
    this.dialog = byId("compact", HTMLDialogElement);
    this.keep = byId("compact-keep", HTMLInputElement);
    this.text = byId("compact-text", HTMLTextAreaElement);
    this.write = byId("compact-write", HTMLButtonElement);
    this.back = byId("compact-back");
    this.apply = byId("compact-apply", HTMLButtonElement);
    this.error = byId("compact-error");
    this.turns = new CompactTurns({
      take: (seq, on) => void this.#choose((work) => this.#take(work, seq, on)),
      end: (seq) => this.#choose((work) => (work.to = seq)).then(() => this.turns.showEnd()),
    });
    this.chips = new LostChips(this.text, () => this.#edited(this.work.by));
    byId("compact-told").closest("div")?.after(this.chips.element);
    /** @type {Map<string, Work>} by the compactions' path */
    this.works = new Map();
    this.path = "";
    this.work = newWork();
    /** @type {CompactPlan|null} */
    this.plan = null;
    // The newest request for a plan, and for a draft: what older ones answer is passed over.
    this.asked = 0;
    this.run = 0;
    this.paused = 0;
    this.writing = false;
    // The choice that the plan is of, and whether another one was made since, or the text is being applied.
    /** @type {Pick<Work, "without"|"to">} */
    this.planned = newWork();
    this.pending = false;
    this.#listen();
  }

  #listen() {
    this.keep.addEventListener("input", () => {
      Object.assign(this.work, { keep: this.keep.value, part: 0, soFar: "" });
      this.#showText();
    });
    this.keep.addEventListener("keydown", (event) => {
      if (event.key === "Enter" && !event.isComposing && !this.writing) void this.#write();
    });
    this.text.addEventListener("input", () => this.#edited(""));
    this.write.addEventListener("click", () => void this.#write());
    this.back.addEventListener("click", () => this.#swap());
    this.apply.addEventListener("click", () => void this.#compact());
    byId("compact-cancel").addEventListener("click", () => {
      this.works.delete(this.path);
      this.dialog.close();
    });
    byId("compact-again").addEventListener("click", () => {
      this.dialog.close();
      void recall(this.path, this.state().summary.undone, true);
    });
    this.dialog.addEventListener("close", () => this.#stop());
  }

  /**
   * @param {string} keep what must be kept, in the person's words
   * @returns {Promise<boolean>} whether the window is open
   */
  async open(keep = "") {
    const id = this.state().conversationId;
    this.path = `${this.page.urls.conversations}/${id}/compact`;
    this.work = this.works.get(this.path) ?? newWork();
    if (keep) this.work.keep = keep.slice(0, this.keep.maxLength);
    // Another conversation may have been opened meanwhile.
    if (!(await this.#ask(showError)) || this.state().conversationId !== id) return false;
    this.works.set(this.path, this.work);
    this.error.hidden = true;
    this.keep.value = this.work.keep;
    byId("compact-undone").hidden = !this.state().summary.undone;
    this.dialog.showModal();
    byId("compact-title").focus();
    this.#show();
    this.turns.showEnd();
    return true;
  }

  get #fields() {
    const { to, without, keep, text } = this.work;
    const fields = { query: queryString(), model: this.model(), to, without: [...without], keep };
    return { ...fields, text: text ?? "" };
  }

  /**
   * Asks what the present choice means; false where that can't be told, or isn't the newest choice any more.
   * @param {(error: unknown) => void} fail
   */
  async #ask(fail) {
    const mine = (this.asked += 1);
    const { to, without } = this.work;
    const planned = { to, without: new Set(without) };
    try {
      const plan = await sendChange("POST", `${this.path}/plan`, this.#fields);
      if (mine === this.asked) Object.assign(this, { plan, planned });
      return mine === this.asked;
    } catch (error) {
      if (mine === this.asked) fail(error);
      return false;
    }
  }

  /**
   * Where the new choice can't be told, the one before holds again.
   * @param {(work: Work) => unknown} change what is compacted; a text that was written stays
   */
  async #choose(change) {
    const { work } = this;
    change(work);
    this.#stop();
    Object.assign(work, { part: 0, soFar: "" });
    if (work.text !== null)
      work.told = say("Written for another choice of messages: check it, or write it again.");
    this.error.hidden = true;
    this.pending = true;
    this.#showText();
    const fail = (/** @type {unknown} */ error) => {
      const { to, without } = this.planned;
      Object.assign(work, { to, without: new Set(without) });
      this.#show();
      this.#fail(error);
    };
    if (await this.#ask(fail)) this.#show();
  }

  /**
   * @param {Work} work
   * @param {number} seq of a turn
   * @param {boolean} on
   */
  #take(work, seq, on) {
    if (!on) return work.without.add(seq);
    work.without.delete(seq);
    if (seq > (work.to ?? this.turns.last)) work.to = seq;
  }

  /** @param {unknown} error */
  #fail(error) {
    this.error.hidden = false;
    setChildren(this.error, error instanceof Error ? error.message : String(error));
    this.error.scrollIntoView({ block: "nearest" });
  }

  #show() {
    const { plan, work } = this;
    if (!plan) return;
    this.pending = false;
    const most = Math.max(plan.limit, plan.tokens) / 100;
    byId("compact-rest").style.width = `${(plan.tokens - plan.freed) / most}%`;
    byId("compact-freed").style.width = `${plan.freed / most}%`;
    setText(byId("compact-figures"), describeFreed(plan));
    this.turns.show(plan, work.to);
    const text = work.text ?? plan.draft;
    // Written anew, it would lose the caret.
    if (this.text.value !== text) this.text.value = text;
    this.chips.show(plan.lost);
    this.#showText();
  }

  #showText() {
    const { plan, work, writing } = this;
    if (!plan) return;
    const told = work.text === null ? describeDraft(plan) : work.told;
    setText(byId("compact-told"), writing ? describeWriting(work.part, plan.parts) : told);
    setText(this.write, writing ? say("Stop") : describeWriter(work.part, plan));
    byId("compact-wish").hidden = !plan.by;
    this.back.hidden = writing || !work.former;
    this.text.readOnly = writing;
    this.apply.disabled = writing || this.pending || !this.text.value.trim();
  }

  /** @param {string} by the model's label; "": this person wrote it */
  #edited(by) {
    Object.assign(this.work, { text: this.text.value, by, told: by && this.work.told });
    this.#showText();
    clearTimeout(this.paused);
    this.paused = setTimeout(() => void this.#measure(), PAUSE);
  }

  /** Says what the text that is there now frees and lacks; where that can't be told, what was said of the one before stays. */
  async #measure() {
    if (!this.pending && (await this.#ask(() => {}))) this.#show();
  }

  /** Lets the model write part by part, or stops it; what it wrote is kept where it fails or is stopped. */
  async #write() {
    const { work, plan, writing } = this;
    this.#stop();
    if (writing || !plan) return;
    const mine = this.run;
    this.writing = true;
    this.error.hidden = true;
    let took = 0;
    try {
      /** @type {CompactDraft} */
      let made;
      do {
        this.#showText();
        const so = { part: work.part, text: work.soFar };
        made = await sendChange("POST", `${this.path}/draft`, { ...this.#fields, ...so });
        if (mine !== this.run) return;
        took += made.seconds;
        Object.assign(work, { part: made.part + 1, soFar: made.text });
      } while (work.part < made.parts);
      const { text, by } = made;
      const duration = formatDuration(took * 1000);
      const told = say("Written by {by} in {duration}.", { by, duration });
      const former = { text: work.text, by: work.by, told: work.told };
      Object.assign(work, { text, by, told, former, part: 0, soFar: "" });
      this.#stop();
      await this.#ask((error) => this.#fail(error));
      this.#show();
      this.chips.element.scrollIntoView({ block: "nearest" });
    } catch (error) {
      if (mine !== this.run) return;
      this.#stop();
      this.#fail(error);
    }
  }

  #stop() {
    clearTimeout(this.paused);
    this.run += 1;
    this.writing = false;
    this.#showText();
  }

  #swap() {
    const { text, by, told, former } = this.work;
    Object.assign(this.work, former, { former: { text, by, told } });
    this.#show();
    this.text.focus();
  }

  async #compact() {
    const { plan, work, path } = this;
    if (!plan) return;
    this.#stop();
    this.asked += 1; // what is being measured is passed over
    this.pending = true;
    this.#showText();
    this.error.hidden = true;
    // It may have been closed meanwhile, or another conversation's have been opened.
    const here = () => this.path === path && this.dialog.open;
    const { version, state } = plan;
    const sent = { ...this.#fields, text: this.text.value, by: work.by, version, state };
    try {
      /** @type {SummaryVersions} */
      const { current, versions } = await sendChange("POST", path, sent);
      this.works.delete(path);
      if (here()) {
        this.dialog.close();
        byId("draft").focus();
      }
      const count = versions.find((one) => one.version === current)?.exchanges ?? 0;
      const words = sayCount(
        "{count} exchange is sent as a summary.",
        "{count} exchanges are sent as a summary.",
        count,
      );
      tellCompacted(words, path, current);
    } catch (error) {
      // What holds may have changed meanwhile: the next try is for what is there now.
      work.text = sent.text;
      if (!here()) return showError(error);
      await this.#ask(() => {});
      this.#show();
      this.#fail(error);
    }
  }
}

/** @returns {Work} */
const newWork = () => ({
  text: null,
  by: "",
  told: "",
  without: new Set(),
  to: null,
  keep: "",
  former: null,
  part: 0,
  soFar: "",
});
