/** Tells somebody who looks elsewhere that a long answer is done: a mark in the title and, if wished, a notice. */

import { loadItem, storeItem } from "../net/storage.js";
import { shorten } from "../state/format.js";
import { say } from "../words/say.js";

/** @import { State } from "../types/state.js" */

// In ms: nobody goes away for a shorter answer.
const LONG = 8_000;
const MARK = "● ";

export class Notices {
  constructor() {
    this.begun = 0;
    /** An answer ended while the page wasn't looked at. */
    this.unread = false;
    document.addEventListener("visibilitychange", () => {
      if (document.hidden || !this.unread) return;
      this.unread = false;
      document.title = document.title.replace(MARK, "");
    });
  }

  /** Whether notices are wished and the browser lets us show them. */
  get on() {
    return (
      loadItem("notices") === "on" &&
      "Notification" in window &&
      Notification.permission === "granted"
    );
  }

  /**
   * The browser asks its own question the first time.
   * @param {boolean} on
   * @returns {Promise<boolean>} whether notices are on now
   */
  async switch(on) {
    if (on && "Notification" in window && Notification.permission === "default")
      await Notification.requestPermission();
    storeItem("notices", on ? "on" : null);
    return this.on;
  }

  /**
   * @param {State} state
   * @param {State} before
   */
  update(state, before) {
    if (state.turn && state.turn.id !== before.turn?.id) this.begun = performance.now();
    const ended =
      before.turn && !state.turn && state.opened && state.conversationId === before.conversationId;
    if (!ended || !document.hidden || performance.now() - this.begun < LONG) return;
    this.unread = true;
    if (!this.on) return;
    const last = state.messages.findLast(({ role }) => role === "assistant");
    const notice = new Notification(say("The answer is done"), {
      body: shorten(last?.content ?? state.conversation?.title ?? "", 120),
      tag: state.conversationId,
    });
    notice.addEventListener("click", () => (window.focus(), notice.close()));
  }

  /**
   * @param {string} title of the page
   * @returns {string} with a mark while something is unread
   */
  mark(title) {
    return this.unread ? `${MARK}${title}` : title;
  }
}
