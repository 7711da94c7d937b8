/** The one connection to the server: it reconnects by itself and reports its state. */

const FIRST_WAIT = 500;
const LONGEST_WAIT = 10_000;
// The server closed the connection because there were too many, or too much came over it.
const TOO_MANY = [1008, 4429];
// Every command is answered at once, so a longer silence means that the connection is dead.
const SILENCE = 20_000;

/** @import { ServerEvent } from "../types/wire.js" */

/** @typedef {"connecting"|"online"|"offline"} ConnectionState */

export class Connection {
  /**
   * @param {string} path
   * @param {{onOpen: () => void, onEvent: (event: ServerEvent) => void, onLine: (line: ConnectionState, reason?: string) => void,
   *   onClosed: (code: number, reason: string) => void}} listeners
   */
  constructor(path, listeners) {
    const url = new URL(path, location.href);
    url.protocol = location.protocol === "https:" ? "wss:" : "ws:";
    this.url = url.href;
    this.listeners = listeners;
    this.tries = 0;
    /** @type {WebSocket|null} */
    this.socket = null;
    this.timer = 0;
    this.silence = 0;
    addEventListener("online", () => this.#retryNow());
    addEventListener("offline", () => this.#drop());
    document.addEventListener("visibilitychange", () => {
      if (!document.hidden) this.#retryNow();
    });
  }

  get open() {
    return this.socket?.readyState === WebSocket.OPEN;
  }

  /** @param {WebSocket} [socket] one that is open, or will be */
  connect(socket = new WebSocket(this.url)) {
    clearTimeout(this.timer);
    this.timer = 0;
    this.listeners.onLine("connecting");
    this.socket = socket;
    if (this.open) this.#opened();
    else socket.addEventListener("open", () => this.socket === socket && this.#opened());
    socket.addEventListener("message", (message) => {
      if (this.socket !== socket) return;
      clearTimeout(this.silence);
      this.silence = 0;
      this.listeners.onEvent(JSON.parse(message.data));
    });
    socket.addEventListener("close", (event) => {
      if (this.socket === socket) this.#closed(event.code, event.reason);
    });
  }

  #opened() {
    this.tries = 0;
    this.listeners.onLine("online");
    this.listeners.onOpen();
  }

  /**
   * @param {object} command
   * @returns {boolean} whether the command was handed to an open connection
   */
  send(command) {
    if (!this.open) return false;
    /** @type {WebSocket} */ (this.socket).send(JSON.stringify(command));
    if (!this.silence) this.silence = window.setTimeout(() => this.#drop(), SILENCE);
    return true;
  }

  /**
   * @param {number} code of the close
   * @param {string} [reason]
   */
  #closed(code, reason = "") {
    clearTimeout(this.silence);
    this.silence = 0;
    this.socket = null;
    const refused = TOO_MANY.includes(code);
    this.listeners.onLine("offline", refused ? reason : "");
    this.listeners.onClosed(code, reason);
    if (refused) this.tries = 10;
    // Jitter, so that a restart isn't followed by everybody at once.
    const wait = Math.min(LONGEST_WAIT, FIRST_WAIT * 2 ** this.tries);
    this.tries += 1;
    this.timer = window.setTimeout(() => this.connect(), wait * (0.5 + Math.random() / 2));
  }

  /** Gives up a dead connection without waiting for its close. */
  #drop() {
    const socket = this.socket;
    if (!socket) return;
    this.#closed(1006);
    socket.close();
  }

  #retryNow() {
    if (this.timer && !this.socket) {
      this.tries = 0;
      this.connect();
    }
  }
}
