/** The running summary: a control at the horizon, and a window to read it, edit it and switch it off. */

import { byId, h, pressable, setChildren, textButton } from "../elements/dom.js";
import { showError, toast } from "../elements/toast.js";
import { queryString } from "../net/address.js";
import { getJson, sendChange } from "../net/http.js";
import { capitalize, formatDuration, formatTime } from "../state/format.js";
import { sendsSummary, usesSummary } from "../state/summary.js";
import { say, sayCount } from "../words/say.js";
import { recall } from "./compact-undo.js";
import { LostChips } from "./lost-chips.js";

/**
 * @import { Decision } from "../types/wire.js"
 * @import { Page, SummaryVersion, SummaryVersions } from "../types/page.js"
 * @import { State } from "../types/state.js"
 */

export class SummaryWindow {
  /**
   * @param {{page: Page, state: () => State}} given
   */
  constructor({ page, state }) {
    this.page = page;
    this.state = state;
    this.dialog = byId("summary", HTMLDialogElement);
    /** @type {Map<string, string>} typed and not saved, by conversation and version: Esc loses nothing */
    this.drafts = new Map();
    this.conversation = "";
    /** @type {HTMLTextAreaElement|null} */
    this.text = null;
    this.error = h("p", { class: "summary-error", role: "alert", hidden: true });
    this.newer = h("p", { class: "quiet", role: "status", hidden: true });
    /** @type {HTMLButtonElement|null} */
    this.cancel = null;
    /** @type {HTMLButtonElement|null} */
    this.save = null;
    /** @type {SummaryVersions|null} */
    this.found = null;
    this.dialog.addEventListener("close", () => this.#keep());
  }

  async open() {
    this.conversation = this.state().conversationId;
    try {
      this.#show(await getJson(this.#path()));
    } catch (error) {
      return showError(error);
    }
    if (!this.dialog.open) this.dialog.showModal();
  }

  /** Shows that a newer version was made while somebody reads. */
  update() {
    const { conversationId, summary } = this.state();
    if (!this.dialog.open || conversationId !== this.conversation || !this.found) return;
    const newer = summary.version > this.found.current;
    this.newer.hidden = !newer;
    if (newer)
      setChildren(
        this.newer,
        say(
          "Version {version} was made meanwhile. What you save is for the messages of version {current}.",
          { version: summary.version, current: this.found.current },
        ),
      );
  }

  #path(rest = "") {
    return `${this.page.urls.conversations}/${this.conversation}/summary${rest}`;
  }

  /** @param {SummaryVersions} found */
  #show(found) {
    this.found = found;
    const current = found.versions.find((one) => one.version === found.current) ?? null;
    this.text = null;
    this.error = h("p", { class: "summary-error", role: "alert", hidden: true });
    this.newer = h("p", { class: "quiet", role: "status", hidden: true });
    setChildren(
      this.dialog,
      h(
        "h2",
        { id: "summary-title", tabindex: "-1", autofocus: true },
        say("Summary of earlier messages"),
      ),
      h(
        "p",
        { class: "quiet" },
        current
          ? describeVersion(current)
          : say(
              "There is no summary yet. One is written after an answer, when this chat's room is mostly filled.",
            ),
      ),
      current && current.compaction > 0 && this.#recallLine(current.compaction, false),
      this.#unused(found),
      this.#switch(found),
      current && this.#editor(current),
      this.newer,
      this.error,
      this.#foot(current),
      found.versions.length > (current ? 1 : 0) && this.#older(found),
    );
  }

  /** @param {SummaryVersions} found */
  #unused(found) {
    const { decision } = this.state();
    const other =
      decision &&
      !sendsSummary(decision) &&
      !usesSummary(decision, this.page.policies.with_summary);
    return other && found.current > 0
      ? h(
          "p",
          { class: "quiet" },
          say("It isn't sent now: this chat sends {memory}.", { memory: decision.in_words }),
        )
      : null;
  }

  /**
   * @param {number} version
   * @param {boolean} again
   */
  #recallLine(version, again) {
    const act = () => {
      this.dialog.close();
      void recall(this.#path().replace(/summary$/u, "compact"), version, again);
    };
    return h(
      "p",
      {},
      again
        ? say("You undid this summary.")
        : say("You put it in the place of these messages. Nothing was deleted."),
      " ",
      textButton(again ? say("Apply again") : say("Undo"), act),
    );
  }

  /** @param {SummaryVersions} found */
  #switch(found) {
    const box = h("input", { type: "checkbox", role: "switch", id: "summary-on" });
    box.checked = found.on;
    box.addEventListener("change", async () => {
      const on = box.checked;
      if (await this.#change("/switch", { on })) found.on = on;
      else box.checked = found.on;
    });
    return h(
      "label",
      { class: "summary-switch", for: "summary-on" },
      box,
      say("Use a summary in this chat"),
    );
  }

  /** @param {SummaryVersion} current */
  #editor(current) {
    const text = h("textarea", { id: "summary-text", rows: "9", dir: "auto" });
    const key = `${this.conversation}:${current.version}`;
    text.value = this.drafts.get(key) ?? current.text;
    text.addEventListener("input", () => this.#offerSave(current));
    this.text = text;
    const chips = new LostChips(text, () => this.#offerSave(current));
    chips.show(current.lost);
    return h(
      "div",
      { class: "summary-edit" },
      h("label", { for: "summary-text" }, say("What the model reads")),
      text,
      chips.element,
    );
  }

  /** @param {SummaryVersion|null} current */
  #foot(current) {
    this.cancel = pressable({ class: "plain-button" }, () => this.#cancel(current));
    const save = () => current && this.#save(current);
    this.save = pressable({ class: "primary" }, save, say("Save"));
    this.#offerSave(current);
    return h("div", { class: "box-foot" }, this.cancel, current && this.save);
  }

  /** @param {SummaryVersion|null} current */
  #offerSave(current) {
    const changed = Boolean(current && this.text && this.text.value.trim() !== current.text);
    if (this.save) this.save.disabled = !changed;
    if (this.cancel) setChildren(this.cancel, changed ? say("Cancel") : say("Close"));
  }

  /** @param {SummaryVersion|null} current */
  #cancel(current) {
    if (current && this.text) this.text.value = current.text;
    this.dialog.close();
  }

  /** @param {SummaryVersion} current */
  async #save(current) {
    if (!this.text || !this.save) return;
    this.save.disabled = true;
    const saved = await this.#change("", {
      version: current.version,
      text: this.text.value,
      query: queryString(),
    });
    this.save.disabled = false;
    if (!saved) return void this.text.focus();
    this.text.value = current.text;
    this.dialog.close();
    toast(say("Saved as version {current} of the summary.", { current: saved.current }));
  }

  /** @param {SummaryVersions} found */
  #older(found) {
    const rest = found.versions.filter((one) => one.version !== found.current);
    return h(
      "details",
      { class: "summary-older" },
      h(
        "summary",
        {},
        found.earlier
          ? sayCount("The last older version", "The last {count} older versions", rest.length)
          : sayCount("{count} older version", "{count} older versions", rest.length),
      ),
      h(
        "ol",
        {},
        rest.map((one) =>
          h(
            "li",
            {},
            h(
              "p",
              { class: "quiet" },
              say("Version {version}. {about}", {
                version: one.version,
                about: describeVersion(one),
              }),
            ),
            one.text && h("p", { class: "summary-words", dir: "auto" }, one.text),
            this.#wayBack(one),
          ),
        ),
      ),
    );
  }

  /** @param {SummaryVersion} one */
  #wayBack(one) {
    if (one.undone && one.version === this.state().summary.undone)
      return this.#recallLine(one.version, true);
    if (one.why_not) return h("p", { class: "quiet" }, one.why_not);
    const words = say("Restore version {version}", { version: one.version });
    return textButton(words, () => this.#back(one));
  }

  /** @param {SummaryVersion} version */
  async #back(version) {
    const found = await this.#change("", { version: version.version, query: queryString() });
    if (!found) return;
    this.#show(found);
    byId("summary-title").focus();
    toast(
      say("Version {version} is restored, as version {current}.", {
        version: version.version,
        current: found.current,
      }),
    );
  }

  /**
   * Sends a change; null after an error, which the window shows.
   * @param {string} path
   * @param {object} body
   * @returns {Promise<SummaryVersions|null>}
   */
  async #change(path, body) {
    this.error.hidden = true;
    try {
      return await sendChange("POST", this.#path(path), body);
    } catch (error) {
      this.error.hidden = false;
      setChildren(this.error, error instanceof Error ? error.message : String(error));
      return null;
    }
  }

  /** The window was closed: what isn't saved will be there when it is opened again. */
  #keep() {
    const current = this.found?.versions.find((one) => one.version === this.found?.current);
    if (!current || !this.text) return;
    const key = `${this.conversation}:${current.version}`;
    if (this.text.value.trim() === current.text) this.drafts.delete(key);
    else this.drafts.set(key, this.text.value);
  }
}

/** @param {SummaryVersion} version */
function describeVersion(version) {
  const parts = [
    version.exchanges > 0 &&
      sayCount("Covers {count} exchange", "Covers {count} exchanges", version.exchanges),
    version.seconds === null
      ? say("written by {by}", { by: version.by })
      : say("written by {by} in {duration}", {
          by: version.by,
          duration: formatDuration(version.seconds * 1000),
        }),
    formatTime(version.created),
    version.tokens !== null && sayCount("{count} token", "{count} tokens", version.tokens),
  ];
  const cut = version.shortened
    ? say(" It was too long and was cut at the end of a sentence.")
    : "";
  return `${capitalize(parts.filter(Boolean).join(", "))}.${cut}`;
}
