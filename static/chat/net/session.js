/** The open conversation: its state, its connection and what can be asked of the server. */

import { apply } from "../state/apply.js";
import * as drafts from "./drafts.js";
import { byteLength } from "../state/format.js";
import { change, get } from "./http.js";
import { uuid } from "./ids.js";
import { address, claimAddress, query, readAddress } from "./page-data.js";
import { Previews } from "./previews.js";
import { Connection } from "./connection.js";
import { complain } from "../elements/toast.js";
import { asked, disconnected, drawn, initial, lastSeq, withEarlier, withdrawn } from "../state/state.js";

// Room in a frame for what stands around the text of a message.
const ENVELOPE = 2_048;
// In an address there is no room for more of a draft.
const LONGEST_ASKED = 1_500;

export class Session {
  /**
   * @param {import("./page-data.js").Page} page
   * @param {{onChange: (state: import("../state/state.js").State, before: import("../state/state.js").State) => void,
   *   onLine: (line: import("./connection.js").Line) => void,
   *   onRestore: (said: import("../state/state.js").Said) => void, onEntered: () => void,
   *   draft: () => import("../state/state.js").Said, model: () => string|null}} listeners
   *   `model` is the one that was chosen in the page, as `provider:name`; null: none was
   */
  constructor(page, listeners) {
    this.page = page;
    this.listeners = listeners;
    this.refs = 0;
    this.wished = "";
    this.state = this.#named(readAddress(page));
    this.previews = new Previews((ref) => this.#askPreview(ref));
    this.connection = new Connection(page.urls.socket, {
      onOpen: () => this.#enter(),
      onEvent: (event) => this.#hear(event),
      onLine: listeners.onLine,
      onClosed: (code) => this.#lost(code),
    });
    addEventListener("popstate", () => this.#show(readAddress(page)));
  }

  start() {
    this.listeners.onEntered();
    this.connection.connect();
  }

  /**
   * Opens another conversation, or a new one with an agent, without loading the page anew.
   * @param {{conversation?: string|null, agent?: string|null, said?: string}} target `said`: what the
   *   address says besides
   */
  go(target) {
    history.pushState(null, "", address(this.page, target));
    this.#show({ conversation: target.conversation ?? null, agent: target.agent ?? this.state.agentSlug });
  }

  /**
   * Draws the message and sends it, now or as soon as the connection is back.
   * @param {import("../state/state.js").Said} said
   */
  send(said) {
    const clientId = uuid();
    const pending = {
      ...said, client_id: clientId, ref: `send-${clientId}`, model: this.listeners.model(),
      after: lastSeq(this.state), at: new Date().toISOString(),
    };
    this.#become(drawn(this.state, pending));
    if (this.state.opened) this.#sendPending(pending);
  }

  /** @returns {boolean} whether one frame holds the text as JSON */
  fits(text) {
    return byteLength(JSON.stringify(text)) + byteLength(query()) + ENVELOPE <= this.page.max_frame;
  }

  stop() {
    if (this.state.turn) this.#command("stop", {});
  }

  /**
   * Answers the same message once more.
   * @param {string} message the answer, or the message that has none
   */
  again(message) {
    this.#wish("again", message);
  }

  /**
   * Writes an answer further.
   * @param {string} message
   */
  goOn(message) {
    this.#wish("continue", message);
  }

  /** Shows another version of an answer; every page of the conversation is told. */
  async show(message) {
    await change("POST", `${this.page.urls.messages}/${message}/show`);
  }

  wantPreview() {
    this.previews.want();
  }

  /** Asks for a new snapshot, as after a gap. */
  reopen() {
    this.#command("open", { agent: this.state.agentSlug });
  }

  /** Loads the messages before those that are shown. */
  async loadEarlier() {
    const { conversationId, messages } = this.state;
    const path = `${this.page.urls.conversations}/${conversationId}/messages?before=${messages[0]?.seq ?? 0}`;
    const older = await get(path);
    if (this.state.conversationId !== conversationId) return;
    this.#become(withEarlier(this.state, older.messages, older.earlier));
  }

  /**
   * Marks a message, or takes the mark away; every page that shows it is told.
   * @param {string} id
   * @param {"pinned"|"excluded"|"forget_above"} mark
   * @param {boolean} on
   */
  async mark(id, mark, on) {
    this.#hear(await change("PATCH", `${this.page.urls.messages}/${id}`, { [mark]: on }));
  }

  /**
   * Takes turns that a cleanup unloaded back in; every page of the conversation is told.
   * @param {number[]|null} turns the numbers of their first messages; null: all of them
   * @param {string} [conversation] another may be open by now
   * @returns {Promise<{turns: number[]}>} those that are back
   */
  bringBack(turns, conversation = this.state.conversationId) {
    const path = `${this.page.urls.conversations}/${conversation}/cache/bring_back`;
    return change("POST", path, turns ? { turns } : {});
  }

  /** What is being written and who is to answer it, as questions about the next message name them. */
  get written() {
    const said = this.listeners.draft();
    return { draft: said.text, ...beside(said), model: this.#model() };
  }

  /** @returns {Promise<import("../message/why-window.js").Told>} why a message is or isn't sent with what is typed */
  why(id) {
    const { draft, reply_to: replied, attachments, model } = this.written;
    const asking = new URLSearchParams({ query: query(), reply_to: replied ?? "", model });
    for (const one of attachments) asking.append("attachment", one);
    if (draft.length <= LONGEST_ASKED) asking.set("draft", draft);
    return get(`${this.page.urls.messages}/${id}/why?${asking}`);
  }

  #named({ conversation, agent }) {
    const known = this.page.agents.find((one) => one.slug === agent) ?? null;
    const id = conversation ?? drafts.unbegun(agent);
    return { ...initial(id, agent, known), pending: drafts.readPending(id) };
  }

  #show(target) {
    const before = this.state;
    this.state = this.#named(target);
    this.listeners.onEntered();
    this.listeners.onChange(this.state, before);
    this.previews.reset();
    if (this.connection.open) this.#enter();
  }

  #enter() {
    this.previews.reset();
    this.reopen();
  }

  #hear(event) {
    const before = this.state;
    this.#become(apply(before, event));
    if (event.ref) this.previews.answered(event.ref);
    if (event.ref === this.wished || ["turn_started", "snapshot"].includes(event.type)) this.wished = "";
    if (event.type === "snapshot" && this.state.opened) this.#entered();
    // A model that is ready counts tokens itself, where they were estimated before.
    const ready = this.state.engine?.state === "ready" && before.engine?.state === "loading";
    const moved = event.type === "cache_changed" && Object.keys(event.status).length > 0;
    if (ready || moved || ["turn_ended", "cleared", "marked", "summary_changed"].includes(event.type)) this.wantPreview();
    const { refusal } = this.state;
    if (refusal?.said && refusal !== before.refusal) {
      const { said, code } = refusal;
      this.listeners.onRestore(code === "reply_gone" ? { ...said, reply: null } : said);
    }
    if (this.state.stale && !before.stale) this.reopen();
    if (this.state.conversation) {
      claimAddress(this.page, this.state.conversationId);
      drafts.begun(this.state.agentSlug, this.state.conversationId);
    }
  }

  /** After every snapshot: what was drawn but never confirmed is sent again under its own id. */
  #entered() {
    for (const pending of this.state.pending) this.#sendPending(pending);
    this.wantPreview();
  }

  #sendPending({ client_id, ref, model, ...said }) {
    const asking = { agent: this.state.agentSlug, client_id, model: this.#model(model) };
    this.#command("send", { ...asking, text: said.text, ...beside(said) }, ref);
  }

  /** One at a time: who presses twice means it once. */
  #wish(type, message) {
    if (this.state.turn || this.wished) return;
    const ref = `${type}-${(this.refs += 1)}`;
    const said = { agent: this.state.agentSlug, client_id: uuid(), message, model: this.#model() };
    if (this.#command(type, said, ref)) this.wished = ref;
    else complain(new Error("There is no connection now. Nothing was changed; try again in a moment."));
  }

  #askPreview(ref) {
    const said = this.listeners.draft();
    if (!this.state.opened || this.state.deleted || !this.fits(said.text)) return false;
    this.state = asked(this.state, ref);
    const asking = { agent: this.state.agentSlug, model: this.#model() };
    return this.#command("preview", { ...asking, draft: said.text, ...beside(said) }, ref);
  }

  /** Who is to answer: what was chosen in the page, what the conversation keeps, or "", the agent's own. */
  #model(chosen = this.listeners.model()) {
    return chosen ?? this.state.conversation?.model ?? "";
  }

  #command(type, fields, ref = `${type}-${(this.refs += 1)}`) {
    return this.connection.send({
      type, ref, query: query(), conversation: this.state.conversationId, ...fields,
    });
  }

  #lost(code) {
    // Signed in or out elsewhere: this page belongs to someone else now.
    if (code === 4401 && drafts.mayReload()) return void location.reload();
    this.previews.reset();
    if (code === 1009) {
      // The frame was too long: sending it again would only close the line again.
      for (const pending of this.state.pending) {
        this.state = withdrawn(this.state, pending.client_id);
        this.listeners.onRestore(pending);
      }
    }
    this.#become(disconnected(this.state));
  }

  #become(state) {
    const before = this.state;
    if (state === before) return;
    this.state = state;
    if (state.pending !== before.pending) drafts.keepPending(state.conversationId, state.pending);
    this.listeners.onChange(state, before);
  }
}

/**
 * What goes with a text in a command. A tab that was open before knew no attachments.
 * @param {import("../state/state.js").Said} said
 */
const beside = ({ reply, attachments = [] }) => ({
  reply_to: reply?.id ?? null, attachments: attachments.map(({ id }) => id),
});
