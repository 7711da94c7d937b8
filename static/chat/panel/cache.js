/** The panel's section on the engine's KV cache: its content, what each turn reused, and making room. */

import { h, pressable, textButton } from "../elements/dom.js";
import { icon } from "../elements/icons.js";
import { showError, toast } from "../elements/toast.js";
import { queryString } from "../net/address.js";
import { getJson, sendChange } from "../net/http.js";
import { formatBytes, formatDuration, formatNumber, formatTime } from "../state/format.js";
import { CacheStrip } from "./cache-strip.js";
import { none, table, unseen } from "./table.js";
import { say, sayCount } from "../words/say.js";
import { term } from "./terms.js";

/**
 * @import { Section } from "./panel.js"
 * @import { Message } from "../types/wire.js"
 * @import { CachePiece, CacheReport, CleanupStrategy, Page, TurnAccount } from "../types/page.js"
 * @import { State } from "../types/state.js"
 */

// In ms: a turn's end and the cache's change arrive one after the other.
const PAUSE = 100;
// So many turns are shown at once; older ones can be opened.
const NEWEST = 6;
/** @type {Record<string, string>} */
const ORIGINS = {
  slot: say("memory"),
  session: say("disk"),
  shared: say("shared"),
  none: say("none"),
};

/**
 * The conversation's cache as it was loaded; `about` is the conversation's id.
 * @typedef {CacheReport & {about: string}} LoadedCache
 */

/** @typedef {{conversationId: string, cacheVersion: number, messages: Message[]|null, query: string}} About */

export class CacheSection {
  /**
   * @param {Page} page
   * @param {{toMessage: (seq: number) => void, redraw: () => void,
   *   bringBack: (turns: number[]|null, conversation: string) => Promise<void>}} actions
   */
  constructor(page, actions) {
    this.page = page;
    this.actions = actions;
    this.strip = new CacheStrip(actions);
    this.timer = 0;
    /** @type {About|null} what the answer that is shown or awaited is about */
    this.about = null;
    /** @type {LoadedCache|null} */
    this.found = null;
    this.failure = "";
    this.busy = false;
  }

  /**
   * @param {State} state
   * @returns {Section|null}
   */
  section(state) {
    if (!state.conversation || state.deleted) return null;
    const { conversationId } = state;
    if (this.found?.about !== conversationId) {
      this.found = null;
      this.failure = "";
      this.strip.chosen = "";
    }
    this.#follow(state);
    const { found, failure, busy } = this;
    const waits = busy || Boolean(state.turn);
    return {
      data: [conversationId, found, failure, busy, waits],
      draw: () =>
        found
          ? this.#draw(found, waits, state)
          : [
              h("h3", {}, say("KV cache")),
              h("p", { class: "quiet" }, failure || say("Looking at it…")),
            ],
    };
  }

  /**
   * Loads again where the cache, the conversation or the address changed. While an answer is written, only
   * changes of the cache count.
   * @param {State} state
   */
  #follow({ conversationId, cacheVersion, messages, turn }) {
    const known = this.about;
    const parameters = queryString();
    const sameChat = known?.conversationId === conversationId;
    const sameWords = known?.messages === messages && known.query === parameters;
    if (known && sameChat && known.cacheVersion === cacheVersion && (turn || sameWords)) return;
    const about = { conversationId, cacheVersion, messages, query: parameters };
    this.about = about;
    clearTimeout(this.timer);
    this.timer = window.setTimeout(() => this.#load(about), sameChat ? PAUSE : 0);
  }

  /** @param {About} about */
  async #load(about) {
    let found = null;
    let failure = "";
    try {
      const path = `${this.#path(about.conversationId)}?${new URLSearchParams({ query: about.query })}`;
      found = { ...(await getJson(path)), about: about.conversationId };
    } catch (error) {
      failure = /** @type {Error} */ (error).message;
    }
    // A newer request is on its way: its answer counts.
    if (about !== this.about) return;
    Object.assign(this, { found, failure });
    this.actions.redraw();
  }

  /** @param {string} conversation */
  #path(conversation, rest = "") {
    return `${this.page.urls.conversations}/${conversation}/cache${rest}`;
  }

  /**
   * @param {LoadedCache} found
   * @param {boolean} waits nothing can be changed now
   * @param {State} state
   */
  #draw(found, waits, state) {
    if (!found.available) {
      // Turns that the engine unloaded stay out, whichever model answers now.
      return [
        h("h3", {}, say("KV cache")),
        h("p", { class: "quiet" }, found.note),
        this.#back(found, waits),
      ];
    }
    const last = found.turns.at(-1);
    const cells = say("{used} of {window} cells", {
      used: formatNumber(found.used),
      window: formatNumber(found.window),
    });
    return [
      h(
        "h3",
        {},
        term("cells", say("KV cache")),
        h(
          "small",
          {},
          last
            ? say("{cells} · {reused} reused", { cells, reused: formatNumber(last.reused) })
            : cells,
        ),
      ),
      ...this.strip.draw(found.strip, found.used, found.free),
      h(
        "dl",
        { class: "facts small kv-facts" },
        h("dt", {}, term("session", say("Session"))),
        h("dd", {}, describePlace(found)),
        h("dt", {}, term("cleanup", say("Cleanup"))),
        h(
          "dd",
          {},
          found.cleanup.words,
          " ",
          h(
            "span",
            { class: "quiet" },
            say("when there is no room · {source}", { source: found.cleanup.source }),
          ),
        ),
      ),
      found.cleanup.passed_over.length > 0 &&
        h(
          "ul",
          { class: "reasons" },
          found.cleanup.passed_over.map((one) => h("li", { class: "bad" }, one)),
        ),
      found.note && h("p", { class: "quiet" }, found.note),
      ...turnsPart(found),
      ...this.#room(found, waits, state),
    ];
  }

  /**
   * @param {LoadedCache} found
   * @param {boolean} waits
   * @param {State} state
   */
  #room(found, waits, { turn }) {
    const { strategies, cleanup, about } = found;
    return [
      h("h4", {}, say("Make room now")),
      turn && h("p", { class: "quiet" }, say("After the answer that is being written.")),
      h(
        "ul",
        { class: "kv-acts" },
        strategies.map((one) => {
          const off = waits || !one.turns;
          return h(
            "li",
            {},
            pressable(
              { "data-key": `kv-${one.name}`, "aria-disabled": String(off) },
              () => !off && this.#clean(one, about),
              h(
                "span",
                {},
                one.words,
                one.name === cleanup.value && [
                  " ",
                  icon("check", 12),
                  unseen(` ${say("(automatic)")}`),
                ],
              ),
              h("small", {}, describeEffect(one)),
            ),
          );
        }),
      ),
      this.#back(found, waits),
    ];
  }

  /**
   * @param {LoadedCache} found
   * @param {boolean} waits
   */
  #back({ unloaded, about }, waits) {
    return (
      unloaded.turns > 0 &&
      h(
        "p",
        { class: "kv-back" },
        h(
          "span",
          {},
          say("{turns} unloaded, {tokens}.", {
            turns: sayCount("{count} turn", "{count} turns", unloaded.turns),
            tokens: sayCount("{count} token", "{count} tokens", unloaded.tokens),
          }),
        ),
        textButton(
          say("Bring all back"),
          () => !waits && this.#wait(this.actions.bringBack(null, about)),
          { "data-key": "kv-back", "aria-disabled": String(waits) },
        ),
      )
    );
  }

  /**
   * @param {CleanupStrategy} strategy
   * @param {string} conversation
   */
  async #clean({ name }, conversation) {
    const asked = sendChange("POST", this.#path(conversation, "/cleanup"), {
      strategy: name,
      query: queryString(),
    });
    await this.#wait(
      asked
        .then(({ turns: gone }) => {
          if (!gone.length) return toast(say("Nothing was unloaded."));
          toast(
            say("{turns} unloaded", {
              turns: sayCount("{count} turn", "{count} turns", gone.length),
            }),
            {
              label: say("Bring back"),
              act: () => void this.actions.bringBack(gone, conversation),
              about: "unloaded",
            },
          );
        })
        .catch(showError),
    );
  }

  /**
   * Disables the buttons until a change is done, then loads again: the event may arrive later, or never.
   * @param {Promise<void>} done
   */
  async #wait(done) {
    this.busy = true;
    this.actions.redraw();
    await done;
    this.busy = false;
    if (this.about) this.about = { ...this.about, messages: null };
    this.actions.redraw();
  }
}

/** @param {CleanupStrategy} strategy */
function describeEffect({ turns: gone, tokens, enough }) {
  if (!gone) return say("nothing to free");
  const values = {
    tokens: sayCount("{count} token", "{count} tokens", tokens),
    turns: sayCount("{count} turn", "{count} turns", gone),
  };
  return enough
    ? say("frees {tokens}, {turns}", values)
    : say("frees {tokens}, {turns}: not enough", values);
}

/** @param {LoadedCache} found */
function describePlace({ place, saved }) {
  const details = saved ? `${formatBytes(saved.bytes)}, ${formatTime(saved.at)}` : "";
  if (place === "slot")
    return details
      ? say("in the engine, saved on disk ({details})", { details })
      : say("in the engine");
  if (place === "saved")
    return details ? say("saved on disk ({details})", { details }) : say("saved on disk");
  return say("not cached: the next message is read from the start");
}

/** @param {LoadedCache} found */
function turnsPart({ turns: all, misses }) {
  if (!all.length) return [];
  const older = all.slice(0, -NEWEST);
  const isOff = all.some(({ expected, reused }) => expected !== reused);
  return [
    h("h4", {}, say("What each turn reused")),
    turnsTable(all.slice(-NEWEST)),
    h(
      "ul",
      { class: "key" },
      h("li", {}, h("i", { class: "kv-loaded" }), say("reused")),
      h("li", {}, h("i", { class: "kv-evaluated" }), say("read")),
    ),
    h(
      "p",
      { class: "quiet" },
      misses || isOff
        ? sayCount(
            "{count} request differed from the prediction; corrected.",
            "{count} requests differed from the prediction; corrected.",
            Math.max(misses, 1),
          )
        : say("Every turn reused what was predicted."),
    ),
    older.length > 0 &&
      h(
        "details",
        { class: "rest", "data-key": "kv-older" },
        h("summary", {}, sayCount("{count} turn before", "{count} turns before", older.length)),
        turnsTable(older),
      ),
  ];
}

/** @param {TurnAccount[]} all */
function turnsTable(all) {
  const heads = [
    term("turn", say("turn")),
    unseen(say("share")),
    term("reused", say("reused")),
    term("read", say("read")),
    term("first", say("first token")),
    term("origin", say("source")),
  ];
  return table("kv-turns", say("Tokens of each turn's prompt"), heads, all.flatMap(row));
}

/** @param {TurnAccount} account */
function row({ number: place, expected, reused, evaluated, first_token_ms: first, origin }) {
  const bar = h("span", { class: "bar", "aria-hidden": "true" });
  for (const [look, tokens] of /** @type {[string, number][]} */ ([
    ["loaded", reused],
    ["evaluated", evaluated],
  ])) {
    const piece = h("i", { class: `kv-${look}` });
    piece.style.flexGrow = String(tokens);
    if (tokens > 0) bar.append(piece);
  }
  return [
    h(
      "tr",
      {},
      h("th", { scope: "row" }, place),
      h("td", {}, bar),
      h("td", {}, formatNumber(reused)),
      h("td", {}, formatNumber(evaluated)),
      h("td", {}, typeof first === "number" ? formatDuration(first) : none(say("not known"))),
      h("td", {}, origin === "none" && reused > 0 ? say("shared") : (ORIGINS[origin] ?? origin)),
    ),
    expected !== reused &&
      h(
        "tr",
        { class: "led" },
        h("td", { colspan: "2" }),
        h("td", { colspan: "4" }, say("{expected} expected", { expected: formatNumber(expected) })),
      ),
  ].filter(Boolean);
}
