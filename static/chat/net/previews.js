/**
 * Requests previews of what the next message would be sent with: one in flight, at most one every
 * 300 ms, and only the newest counts.
 */

const PAUSE = 300;
const PATIENCE = 8_000;

export class Previews {
  /** @param {(ref: string) => boolean} ask sends the request; false where it can't */
  constructor(ask) {
    this.ask = ask;
    this.count = 0;
    this.wanted = false;
    this.last = 0;
    this.timer = 0;
    /** @type {{ref: string, at: number}|null} */
    this.flying = null;
  }

  request() {
    this.wanted = true;
    this.#next();
  }

  /** A message was sent: its turn shouldn't share the server with a preview. */
  giveWay() {
    clearTimeout(this.timer);
    this.timer = 0;
    this.last = Date.now();
    this.#next();
  }

  /**
   * A request was answered or refused.
   * @param {string} ref
   */
  received(ref) {
    if (this.flying?.ref !== ref) return;
    this.flying = null;
    this.#next();
  }

  /**
   * A request was refused; ask again, but not before this many seconds.
   * @param {string} ref
   * @param {number} seconds
   */
  postpone(ref, seconds) {
    if (this.flying?.ref !== ref) return;
    this.flying = null;
    this.last = Date.now() + seconds * 1_000 - PAUSE;
    this.request();
  }

  /** The connection was lost, and the request with it. */
  reset() {
    this.flying = null;
  }

  #next() {
    if (!this.wanted || this.timer) return;
    const now = Date.now();
    if (this.flying && now - this.flying.at < PATIENCE) return;
    const wait = Math.max(0, this.last + PAUSE - now);
    this.timer = window.setTimeout(() => this.#send(), wait);
  }

  #send() {
    this.timer = 0;
    const ref = `preview-${(this.count += 1)}`;
    if (!this.ask(ref)) return;
    this.wanted = false;
    this.last = Date.now();
    this.flying = { ref, at: this.last };
  }
}
