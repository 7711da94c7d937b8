/** Bringing chats along: a line with the import's progress, and after it with its outcome. */

import { announce } from "../elements/announce.js";
import { h, setChildren, setText, textButton } from "../elements/dom.js";
import { Late } from "../elements/late.js";
import { showError, toast } from "../elements/toast.js";
import { getJson, sendChange } from "../net/http.js";
import { loadItem, storeItem } from "../net/storage.js";
import { formatNumber, say, sayCount } from "../words/say.js";

/**
 * @import { Page } from "../types/page.js"
 * @import { Conversation, Import, ImportReport } from "../types/wire.js"
 */

const PAUSE = 700;
/** Kept in this browser until the report is closed, so that a new page shows it, too. */
const REPORT = "import-report";

export class RestoreLine {
  /**
   * @param {Page} page
   * @param {{restored: (conversation: {id: string, agent: string}) => void, listed: () => void, agent: () => string}} actions
   *   `listed`: the list has new chats; `agent` answers in the open chat
   */
  constructor(page, actions) {
    this.page = page;
    this.actions = actions;
    this.words = h("span", {});
    this.progress = h("progress", { max: "1", "aria-label": say("Importing chats") });
    this.cancel = textButton(say("Cancel"), () => this.#cancel());
    this.element = h("div", { class: "restoring", hidden: true });
    this.report = new Late(async () => {
      const { ImportReportWindow } = await import("./import-report.js");
      return new ImportReportWindow(actions.restored);
    });
    if (page.restoring || loadItem(REPORT)) void this.#follow(false);
  }

  /** @param {File} file */
  async start(file) {
    const query = new URLSearchParams({ agent: this.actions.agent() });
    try {
      this.#line(say("Sending the file…"));
      const answer = await sendChange("POST", `${this.page.urls.import}?${query}`, file);
      if (answer.conversation) this.#ended(answer, true);
      else {
        storeItem(REPORT, "1");
        this.#show(answer.import);
        announce(this.words.textContent ?? "");
        await this.#follow(true);
      }
    } catch (error) {
      this.element.hidden = true;
      showError(error);
    }
  }

  /**
   * Asks how far it is until it has ended; a request that fails is made again.
   * @param {boolean} here whether it was begun in this page
   */
  async #follow(here) {
    for (;;) {
      const found = await this.#ask();
      if (!found || found.conversation || found.problem || found.report)
        return this.#ended(found, here);
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

  /**
   * @param {Import|null} found
   * @param {boolean} here
   */
  #ended(found, here) {
    this.element.hidden = true;
    storeItem(REPORT, found?.report ? "1" : null);
    if (found?.problem) showError(new Error(found.problem.message));
    else if (found?.report) this.#reported(found.report, here);
    else if (found?.conversation) this.#end(found.conversation, found.note);
  }

  /**
   * Shows the outcome until somebody closes it, and the whole report at once where it was begun.
   * @param {ImportReport} report
   * @param {boolean} here
   */
  #reported(report, here) {
    const { program, chats } = report;
    const open = () => this.report.use((it) => it.show(report));
    setText(
      this.words,
      chats
        ? sayCount(
            "Imported {count} chat from {program}",
            "Imported {count} chats from {program}",
            chats,
            { program },
          )
        : say("No new chats were imported"),
    );
    setChildren(
      this.element,
      this.words,
      textButton(say("Report"), open),
      textButton(say("Close"), () => this.#closeReport()),
    );
    this.element.hidden = false;
    if (!here) return;
    this.actions.listed();
    void open();
  }

  async #closeReport() {
    this.element.hidden = true;
    storeItem(REPORT, null);
    await sendChange("DELETE", this.page.urls.import_progress).catch(showError);
  }

  /** @param {Import} found */
  #show({ title, done, count, chats, chats_done }) {
    const facts = { title, done: formatNumber(done), count: formatNumber(count) };
    if (!count) this.#line(say("Reading the file…"), true);
    else if (chats)
      this.#line(
        say("Importing: {done} of {chats} chats · {percent} %", {
          done: formatNumber(chats_done ?? 0),
          chats: formatNumber(chats),
          percent: Math.floor((100 * done) / count),
        }),
        true,
      );
    else this.#line(say("Importing “{title}”: {done} of {count} messages", facts), true);
    if (count) this.progress.value = done / count;
    else this.progress.removeAttribute("value");
  }

  /**
   * @param {string} words
   * @param {boolean} [cancels] what is still being sent ends with the page alone
   */
  #line(words, cancels = false) {
    setText(this.words, words);
    this.cancel.hidden = !cancels;
    if (!this.element.contains(this.progress))
      setChildren(this.element, this.words, this.progress, this.cancel);
    this.element.hidden = false;
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
    this.actions.restored(conversation);
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
