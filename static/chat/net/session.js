/** The open conversation: its state, its connection and the requests to the server about it. */

import { apply, needsPreview } from "../state/apply.js";
import { byteLength } from "../state/format.js";
import {
  addEarlier,
  addPending,
  disconnect,
  expectPreview,
  initialState,
  lastSeq,
  refusePreview,
  removePending,
} from "../state/state.js";
import {
  chatAddress,
  fileAddress,
  queryString,
  readAddress,
  useConversationAddress,
} from "./address.js";
import { Connection } from "./connection.js";
import * as drafts from "./drafts.js";
import { csrfToken, getJson, sendChange } from "./http.js";
import { uuid } from "./ids.js";
import { asksTemporary, askTemporary } from "./link.js";
import { Previews } from "./previews.js";
import { say } from "../words/say.js";

/**
 * @import { ConnectionState } from "./connection.js"
 * @import { Page } from "../types/page.js"
 * @import { Confirmed, Draft, PendingMessage, State } from "../types/state.js"
 * @import { Choice, Costs, MarkName, RefusedReply, ServerEvent, Tuning } from "../types/wire.js"
 */

/**
 * `onRestore` gives back a draft that was not sent, with what is asked of its price; `onEntered`: another conversation is open;
 * `onFailed` shows an error; `model` is the one chosen in the page, as `provider:name`, null: none;
 * `history` is what was chosen of the policy before the chat has begun.
 * @typedef {{onChange: (state: State, before: State) => void, onConnection: (line: ConnectionState, reason?: string) => void,
 *   onRestore: (draft: Draft, costs?: Costs|null) => void, onEntered: () => void, onFailed: (error: Error) => void,
 *   draft: () => Draft, model: () => string|null, history: () => Choice, tuning: () => Tuning|null}} Listeners
 */

/** @typedef {{draft: string, reply_to: string|null, attachments: string[], model: string}} DraftFields */

// Room in a frame for everything but the text of a message.
const ENVELOPE = 2_048;
// In ms: so long after a failure a session is asked for again.
const SESSION_PAUSE = 10_000;
const NEEDS_COOKIE = say(
  "This page needs a cookie to know you again. Allow cookies here, and reload it.",
);

export class Session {
  /**
   * @param {Page} page
   * @param {Listeners} listeners
   */
  constructor(page, listeners) {
    this.page = page;
    this.listeners = listeners;
    this.refs = 0;
    /** The command for another answer that is under way, by its ref; "": none. */
    this.awaited = "";
    /** The last refused message: an earlier attempt may be stored, so it is the same one if it is sent as it is. @type {PendingMessage|null} */
    this.refused = null;
    /** @type {State} */
    this.state = this.#firstState(readAddress(page));
    this.previews = new Previews((ref) => this.#sendPreview(ref));
    this.connection = new Connection(page.urls.socket, {
      onOpen: () => this.#askForSnapshot(),
      onEvent: (event) => this.#receive(event),
      onLine: listeners.onConnection,
      onClosed: (code, reason) => this.#connectionClosed(code, reason),
    });
    addEventListener("popstate", () => this.#enter(readAddress(page)));
  }

  /** A first visit has no session yet: without one the server doesn't open a socket. */
  async start() {
    this.listeners.onEntered();
    const early = await globalThis.earlySocket;
    // One that was closed meanwhile says nothing any more.
    if (early && early.readyState <= WebSocket.OPEN) return this.connection.connect(early);
    if (this.page.has_session || (await this.#obtainSession())) this.connection.connect();
  }

  /** @returns {Promise<boolean>} false where this browser refuses cookies */
  async #obtainSession() {
    for (;;) {
      try {
        await sendChange("POST", this.page.urls.session);
        return true;
      } catch (error) {
        const refused = !csrfToken();
        this.listeners.onFailed(refused ? new Error(NEEDS_COOKIE) : /** @type {Error} */ (error));
        if (refused) return false;
        await new Promise((done) => setTimeout(done, SESSION_PAUSE));
      }
    }
  }

  /**
   * Opens another conversation, or a new one with an agent, without reloading the page.
   * @param {{conversation?: string|null, agent?: string|null}} target
   */
  open(target) {
    history.pushState(null, "", chatAddress(this.page, target));
    this.#enter({
      conversation: target.conversation ?? null,
      agent: target.agent ?? this.state.agentSlug,
    });
  }

  /**
   * Draws the message and sends it, now or as soon as the connection is back.
   * @param {Draft} draft
   * @param {string} [clientId] of a message that waited: it is sent once, whoever sends it
   * @param {Confirmed} [confirmed]
   */
  send({ text, reply, attachments }, clientId = this.#clientIdOf(text), confirmed = {}) {
    const pending = {
      ...confirmed,
      text,
      reply,
      attachments,
      client_id: clientId,
      ref: `send-${clientId}`,
      model: this.listeners.model(),
      after: lastSeq(this.state),
      at: new Date().toISOString(),
    };
    const drawn = addPending(this.state, pending);
    drafts.storePending(drawn.conversationId, drawn.pending);
    // Drawing it takes a few milliseconds, in which the server may begin already.
    if (drawn.opened) this.#sendPending(pending);
    this.previews.giveWay();
    this.#setState(drawn);
  }

  /** @param {string} text */
  #clientIdOf(text) {
    const id = this.refused?.text === text ? this.refused.client_id : uuid();
    this.refused = null;
    return id;
  }

  /**
   * @param {string} text
   * @returns {boolean} whether one frame holds the text as JSON
   */
  fits(text) {
    return (
      byteLength(JSON.stringify(text)) + byteLength(queryString()) + ENVELOPE <= this.page.max_frame
    );
  }

  stop() {
    if (this.state.turn) this.#command("stop", {});
  }

  /**
   * Answers the same message once more; what is below it then leaves the path.
   * @param {string} message the answer, or the message that has none
   * @param {string} [model] answers this once, as `provider:model`; the conversation keeps its own
   * @param {Choice} [history] applies to this answer alone
   * @returns {string} the command's ref; "" where it can't be sent now
   */
  retry(message, model, history) {
    return this.#sendOnce("again", message, {
      ...(model !== undefined && { model, once: true }),
      ...(history && { history }),
    });
  }

  /**
   * Asks a message otherwise, as a new branch.
   * @param {string} message
   * @param {object} fields its text, its files and a client id
   * @returns {string} the command's ref; "" where it can't be sent now
   */
  edit(message, fields) {
    return this.#sendOnce("edit", message, fields);
  }

  /**
   * Continues an answer that was cut off.
   * @param {string} message
   */
  continueAnswer(message) {
    this.#sendOnce("continue", message);
  }

  /**
   * Has a choice of the policy and its settings kept with the conversation, which has begun.
   * @param {Choice} choice
   * @returns {string} the command's ref; "" where there is no connection
   */
  chooseHistory(choice) {
    const ref = `choose-${(this.refs += 1)}`;
    return this.#command("choose", { history: choice }, ref) ? ref : "";
  }

  requestPreview() {
    this.previews.request();
  }

  /**
   * Loads the messages before those that are shown.
   * @param {number} [until] the message that is wanted: more are loaded at once
   */
  async loadEarlier(until) {
    const { conversationId, messages } = this.state;
    const query = new URLSearchParams({ before: String(messages[0]?.seq ?? 0) });
    if (until !== undefined) query.set("until", String(until));
    const older = await getJson(
      `${this.page.urls.conversations}/${conversationId}/messages?${query}`,
    );
    if (this.state.conversationId !== conversationId) return;
    this.#setState(addEarlier(this.state, older.messages, older.earlier));
  }

  /**
   * Marks a message, or removes the mark, in every page that shows it.
   * @param {string} id
   * @param {MarkName} mark
   * @param {boolean} on
   */
  async mark(id, mark, on) {
    await this.change("PATCH", `${this.page.urls.messages}/${id}`, { [mark]: on });
  }

  /**
   * Makes a request that is answered with the event that all pages get, or with nothing.
   * @param {"POST"|"PUT"|"PATCH"|"DELETE"} method
   * @param {string} path
   * @param {object} [body]
   */
  async change(method, path, body) {
    const { conversationId } = this.state;
    const event = await sendChange(method, path, body);
    if (event && conversationId === this.state.conversationId) this.#receive(event);
  }

  /**
   * The draft and the model that will answer it, under the names of the wire.
   * @returns {DraftFields}
   */
  get draftFields() {
    const draft = this.listeners.draft();
    return { draft: draft.text, ...replyAndFiles(draft), model: this.#model() };
  }

  /**
   * @param {{conversation: string|null, agent: string}} target
   * @returns {State}
   */
  #firstState({ conversation, agent }) {
    /** Whether the chat begins here: what the next message is sent with depends on nothing that is stored. */
    this.begins = conversation === null;
    const known = this.page.agents.find((one) => one.slug === agent) ?? null;
    const id = conversation ?? drafts.newConversationId(agent);
    const { temporary: rule } = this.page;
    this.#setTemporary(
      this.begins && (rule === "always" || (rule === "allowed" && asksTemporary())),
      id,
    );
    return { ...initialState(id, agent, known), pending: drafts.loadPending(id) };
  }

  /**
   * Whether this chat is erased when it is left. It stays so where the server has erased it meanwhile: what is sent
   * then begins a temporary chat again.
   * @param {boolean} on
   */
  #setTemporary(on, id = this.state.conversationId) {
    this.temporary = on;
    drafts.keepNothingOf(on ? id : "");
  }

  /**
   * Makes the chat that hasn't begun a temporary one, or an ordinary one.
   * @param {boolean} on
   */
  makeTemporary(on) {
    askTemporary(on);
    this.#setTemporary(on);
    this.#setState({ ...this.state });
  }

  /** A temporary chat that is left is closed: the server erases it, and the tab forgets its id. */
  #closeTemporary() {
    if (!this.temporary) return;
    const { conversationId: id, agentSlug, conversation, deleted } = this.state;
    drafts.releaseNewId(agentSlug, id);
    const files = this.listeners
      .draft()
      .attachments.map((file) => sendChange("DELETE", fileAddress(file.id)));
    const chat =
      conversation && !deleted && sendChange("POST", `${this.page.urls.conversations}/${id}/close`);
    // What fails now the server does by itself half a minute later, since no page shows the chat any more.
    void Promise.allSettled([chat, ...files]);
  }

  /** @param {{conversation: string|null, agent: string}} target */
  #enter(target) {
    const before = this.state;
    this.#closeTemporary();
    this.state = this.#firstState(target);
    this.listeners.onEntered();
    this.listeners.onChange(this.state, before);
    this.previews.reset();
    if (this.connection.open) this.#askForSnapshot();
  }

  #askForSnapshot() {
    this.previews.reset();
    this.#command("open", { agent: this.state.agentSlug });
    // It needn't wait a round trip for the snapshot.
    if (this.begins && !this.state.conversation && !this.state.pending.length)
      this.requestPreview();
  }

  /** @param {ServerEvent} event */
  #receive(event) {
    const before = this.state;
    if (event.type === "refused" && event.seconds) this.#askLater(event);
    this.#setState(apply(before, event));
    if ("ref" in event) {
      this.previews.received(event.ref);
      if (event.ref === this.awaited) this.awaited = "";
    }
    if (event.type === "turn_started" || event.type === "snapshot") this.awaited = "";
    if (event.type === "snapshot" && this.state.opened) this.#resendPending();
    if (needsPreview(event, this.state, before)) this.requestPreview();
    this.#restoreRefused(before);
    if (this.state.stale && !before.stale) this.#command("open", { agent: this.state.agentSlug });
    if (this.state.conversation && !this.temporary) {
      useConversationAddress(this.page, this.state.conversationId);
      drafts.releaseNewId(this.state.agentSlug, this.state.conversationId);
    }
  }

  /**
   * A preview or a snapshot that came too early is asked for again by itself; the rest a person decides.
   * @param {RefusedReply} event
   */
  #askLater({ ref, seconds }) {
    this.previews.postpone(ref, seconds);
    if (!ref.startsWith("open-")) return;
    const { conversationId } = this.state;
    setTimeout(() => {
      if (this.state.conversationId === conversationId) this.#askForSnapshot();
    }, seconds * 1_000);
  }

  /** @param {State} before */
  #restoreRefused({ refusal: before }) {
    const { refusal } = this.state;
    if (!refusal?.draft || refusal === before) return;
    const { draft, code, costs } = refusal;
    this.refused = draft;
    this.listeners.onRestore(code === "reply_gone" ? { ...draft, reply: null } : draft, costs);
  }

  /** After every snapshot: messages that were never confirmed are sent again under their own ids. */
  #resendPending() {
    for (const pending of this.state.pending) this.#sendPending(pending);
    const { conversation, pending } = this.state;
    if (conversation || pending.length || !this.previews.flying) this.requestPreview();
  }

  /** @param {PendingMessage} pending */
  #sendPending({ client_id, ref, model, confirmed, once, ...draft }) {
    // A server of before this version knows neither.
    const whatever = { ...(confirmed && { confirmed }), ...(once && { once }) };
    const fields = {
      agent: this.state.agentSlug,
      client_id,
      model: this.#model(model),
      ...this.#tuned(),
      ...whatever,
      ...(this.temporary && { temporary: true }),
    };
    this.#command(
      "send",
      { ...fields, ...this.#firstChoice(), text: draft.text, ...replyAndFiles(draft) },
      ref,
    );
  }

  /**
   * Sends one command at a time: pressing twice means it once.
   * @param {"again"|"continue"|"edit"} type
   * @param {string} message
   * @param {object} [more]
   * @returns {string} the command's ref; "" where it wasn't sent
   */
  #sendOnce(type, message, more = {}) {
    if (this.state.turn || this.awaited) return "";
    const ref = `${type}-${(this.refs += 1)}`;
    const fields = {
      agent: this.state.agentSlug,
      client_id: uuid(),
      message,
      model: this.#model(),
      ...this.#tuned(),
      ...more,
    };
    if (this.#command(type, fields, ref)) return (this.awaited = ref);
    this.listeners.onFailed(
      new Error(say("There is no connection now. Nothing was changed; try again in a moment.")),
    );
    return "";
  }

  /**
   * @param {string} ref
   * @returns {boolean} whether the request was sent
   */
  #sendPreview(ref) {
    const { draft, ...rest } = this.draftFields;
    if (!(this.state.opened || this.begins) || this.state.deleted) return false;
    if (!this.fits(draft)) {
      this.#setState(refusePreview(expectPreview(this.state, ref)));
      return false;
    }
    this.state = expectPreview(this.state, ref);
    return this.#command(
      "preview",
      { agent: this.state.agentSlug, draft, ...rest, ...this.#tuned(), ...this.#firstChoice() },
      ref,
    );
  }

  /** What was chosen for a chat that hasn't begun; later the server knows what is kept. */
  #firstChoice() {
    return this.state.conversation ? {} : { history: this.listeners.history() };
  }

  /** What was chosen of the answers. A server of before this version knows nothing of it. */
  #tuned() {
    const tuning = this.listeners.tuning();
    return tuning ? { tuning } : {};
  }

  /**
   * The model that answers: chosen in the page, or chosen for the conversation, or "", the agent's own.
   * @param {string|null} chosen
   */
  #model(chosen = this.listeners.model()) {
    return chosen ?? this.state.conversation?.model ?? "";
  }

  /**
   * @param {string} type
   * @param {object} fields
   * @param {string} ref
   * @returns {boolean} whether the command was sent
   */
  #command(type, fields, ref = `${type}-${(this.refs += 1)}`) {
    return this.connection.send({
      type,
      ref,
      query: queryString(),
      conversation: this.state.conversationId,
      ...fields,
    });
  }

  /**
   * @param {number} code of the close
   * @param {string} reason
   */
  #connectionClosed(code, reason) {
    if (code === 4401 && (reason || drafts.mayReload())) return this.#askWhoThisIs(reason);
    this.previews.reset();
    if (code === 1009) {
      // The frame was too long: sending it again would only close the connection again.
      for (const pending of this.state.pending) {
        this.state = removePending(this.state, pending.client_id);
        this.listeners.onRestore(pending);
      }
    }
    this.#setState(disconnect(this.state));
  }

  /**
   * Signed in or out in another tab: this page belongs to someone else now. With a `reason` the account's
   * rights were changed: who is still signed in comes back from the sign-in page at once.
   * @param {string} reason
   */
  #askWhoThisIs(reason) {
    if (!reason) return void location.reload();
    drafts.storeReason(reason);
    const next = encodeURIComponent(location.pathname + location.search);
    location.replace(`${this.page.urls.login}?ended=true&next=${next}`);
  }

  /** @param {State} state */
  #setState(state) {
    const before = this.state;
    if (state === before) return;
    this.state = state;
    const { conversation } = state;
    if (conversation && Boolean(conversation.temporary) !== this.temporary)
      this.#setTemporary(Boolean(conversation.temporary));
    if (state.pending !== before.pending) drafts.storePending(state.conversationId, state.pending);
    this.listeners.onChange(state, before);
  }
}

/**
 * The fields of a command besides its text. Drafts of older tabs have no attachments.
 * @param {Draft} draft
 * @returns {{reply_to: string|null, attachments: string[]}}
 */
const replyAndFiles = ({ reply, attachments = [] }) => ({
  reply_to: reply?.id ?? null,
  attachments: attachments.map(({ id }) => id),
});
