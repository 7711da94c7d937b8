/** The strip of the engine's cells: a piece for each message, the free cells, and the same as a table. */

import { h, setChildren, textButton } from "../elements/dom.js";
import { formatNumber, shorten } from "../state/format.js";
import { none, table, unseen } from "./table.js";
import { say, sayCount } from "../words/say.js";

/** @import { CachePiece } from "../types/page.js" */

// More pieces than this leave no room for gaps between them.
const MANY = 60;
// Percent of the strip that a piece without cells takes, and that all of them together may take.
const GONE = 2;
const GONE_ALL = 20;
// Free cells are drawn at most so many times as long as used ones, or a short chat would be a stroke.
const FREE = 2;
/** @type {Record<CachePiece["status"], string>} */
const STATES = { 1: say("loaded"), 0: say("marked for cleanup"), [-1]: say("unloaded") };

/** @typedef {CachePiece & {free?: boolean}} Shown as it is drawn: the free cells are one more piece */

export class CacheStrip {
  /** @param {{toMessage: (seq: number) => void}} actions */
  constructor(actions) {
    this.actions = actions;
    /** The key of the chosen piece, so that it stays chosen when the strip is drawn again. */
    this.chosen = "";
    /** @type {Shown[]} */
    this.pieces = [];
    this.description = h("p", { class: "kv-told" });
    this.list = h("div", {});
  }

  /**
   * @param {CachePiece[]} strip
   * @param {number} used cells
   * @param {number} free cells
   */
  draw(strip, used, free) {
    this.pieces = free > 0 ? [...strip, { ...FREE_PIECE, start: used, size: free }] : strip;
    const gone = strip.filter((one) => one.start < 0).length;
    const long = Math.min(free, FREE * Math.max(1, used));
    this.description = h("p", { class: "kv-told" });
    this.list = h(
      "div",
      {
        class: `kv${strip.length > MANY ? " many" : ""}`,
        role: "listbox",
        tabindex: "0",
        "data-key": "kv",
        "aria-label": say("What lies in the cache, in order"),
        "aria-orientation": "horizontal",
        on: {
          keydown: (event) => this.#key(event),
          focus: () => this.#choose(Math.max(0, this.#at())),
          mouseleave: () => this.describe(this.pieces[this.#at()]),
        },
      },
      this.pieces.map((one, index) => this.#option(one, index, gone, long)),
    );
    this.#choose(this.#at());
    return [this.list, this.description, legend(strip, free, long < free), this.#table(strip)];
  }

  /**
   * @param {Shown} piece
   * @param {number} index
   * @param {number} gone
   * @param {number} long
   */
  #option(piece, index, gone, long) {
    const choose = () => this.#choose(index);
    const option = h("i", {
      id: `kv-${index}`,
      role: "option",
      class: `kv-${pieceLook(piece)}`,
      "aria-selected": "false",
      "aria-label": describePiece(piece),
      // Between a press and its click comes the focus, which may choose a piece and so move the pieces.
      on: { mouseenter: () => this.describe(piece), pointerdown: choose, click: choose },
    });
    if (piece.start < 0) option.style.flex = `0 0 ${Math.min(GONE, GONE_ALL / gone)}%`;
    else option.style.flexGrow = String(piece.free ? long : piece.size);
    return option;
  }

  #at() {
    return this.pieces.findIndex((one) => pieceKey(one) === this.chosen);
  }

  /** @param {number} index -1: none */
  #choose(index) {
    const piece = this.pieces[index];
    this.chosen = piece ? pieceKey(piece) : "";
    for (const [place, option] of [...this.list.children].entries()) {
      option.setAttribute("aria-selected", String(place === index));
    }
    if (piece) this.list.setAttribute("aria-activedescendant", `kv-${index}`);
    this.describe(piece);
  }

  /** @param {Shown|undefined} piece */
  describe(piece) {
    setChildren(
      this.description,
      ...(piece
        ? [
            describePiece(piece),
            piece.seq > 0 && " · ",
            piece.seq > 0 && this.#link(piece, say("show it")),
          ]
        : [say("Point at a piece, or go through them with the arrow keys.")]),
    );
  }

  /**
   * @param {CachePiece} piece
   * @param {string} words
   */
  #link({ seq }, words) {
    return textButton(words, () => this.actions.toMessage(seq));
  }

  /** @param {KeyboardEvent} event */
  #key(event) {
    const at = this.#at();
    const last = this.pieces.length - 1;
    if (event.key === "Enter" && this.pieces[at]?.seq > 0) {
      event.preventDefault();
      return this.actions.toMessage(this.pieces[at].seq);
    }
    /** @type {Record<string, number>} */
    const places = {
      ArrowRight: at + 1,
      ArrowDown: at + 1,
      ArrowLeft: at - 1,
      ArrowUp: at - 1,
      Home: 0,
      End: last,
    };
    const to = places[event.key];
    if (to === undefined) return;
    event.preventDefault();
    this.#choose(Math.min(last, Math.max(0, to)));
  }

  /**
   * A table whose rows are made when it is opened: a long chat has hundreds.
   * @param {CachePiece[]} strip
   */
  #table(strip) {
    const place = h("div", {});
    const details = h(
      "details",
      { class: "rest", "data-key": "kv-table" },
      h("summary", {}, say("Each piece as a table")),
      place,
    );
    details.addEventListener("toggle", () => {
      if (details.open && !place.firstChild) setChildren(place, this.#rows(strip));
    });
    return details;
  }

  /** @param {CachePiece[]} strip */
  #rows(strip) {
    return table(
      "kv-table",
      say("What lies in the cache, in order"),
      [say("message"), unseen(say("what it is")), say("cells"), say("from"), say("state")],
      strip.map((one) =>
        h(
          "tr",
          {},
          h(
            "th",
            { scope: "row" },
            one.seq > 0 ? this.#link(one, formatNumber(one.seq)) : none(say("not a message")),
          ),
          h("td", {}, one.kind === "message" ? one.role : one.label || one.role),
          h("td", {}, one.size < 0 ? none(say("not known")) : formatNumber(one.size)),
          h("td", {}, one.start < 0 ? none(say("not cached")) : formatNumber(one.start)),
          h("td", {}, STATES[one.status]),
        ),
      ),
    );
  }
}

/** @type {Shown} */
const FREE_PIECE = {
  key: "free",
  seq: 0,
  role: "",
  kind: "other",
  start: 0,
  size: 0,
  status: 1,
  label: "",
  free: true,
};

/** @param {CachePiece} piece */
const pieceKey = ({ key, kind, start }) => key || `${kind}:${start}`;

/** @param {Shown} piece */
function pieceLook({ free, kind, status }) {
  if (free) return "free";
  if (status < 1) return status < 0 ? "gone" : "marked";
  return kind === "message" ? "loaded" : kind;
}

/**
 * "12 user, 31 cells from 184 on, loaded: “And in winter?”"
 * @param {Shown} piece
 */
function describePiece({ free, seq, role, kind, start, size, status, label }) {
  if (free) return say("{cells} free", { cells: sayCount("{count} cell", "{count} cells", size) });
  const who =
    kind === "message" ? `${seq || ""} ${role}`.trim() : label || role || say("no message");
  const cells =
    start < 0
      ? size > 0 && say("took {cells}", { cells: sayCount("{count} cell", "{count} cells", size) })
      : say("{cells} from {start} on", {
          cells: sayCount("{count} cell", "{count} cells", size),
          start: formatNumber(start),
        });
  const quote = kind === "message" && label ? `: “${shorten(label, 60)}”` : "";
  return `${[who, cells, STATES[status]].filter(Boolean).join(", ")}${quote}`;
}

/**
 * How many cells there are of each look.
 * @param {CachePiece[]} strip
 * @param {number} free
 * @param {boolean} shortened
 */
function legend(strip, free, shortened) {
  const looks = {
    head: say("instructions"),
    loaded: say("loaded"),
    other: say("other"),
    marked: say("marked for cleanup"),
  };
  const gone = strip.filter((one) => one.status < 0).length;
  return h(
    "ul",
    { class: "key" },
    Object.entries(looks).map(([look, words]) => {
      const cells = strip
        .filter((one) => pieceLook(one) === look)
        .reduce((sum, one) => sum + Math.max(0, one.size), 0);
      return (
        cells > 0 && h("li", {}, h("i", { class: `kv-${look}` }), `${words} ${formatNumber(cells)}`)
      );
    }),
    gone > 0 &&
      h(
        "li",
        {},
        h("i", { class: "kv-gone" }),
        say("unloaded {messages}", {
          messages: sayCount("{count} message", "{count} messages", gone),
        }),
      ),
    free > 0 &&
      h(
        "li",
        {},
        h("i", { class: "kv-free" }),
        say("free {free}", { free: formatNumber(free) }),
        shortened && h("small", {}, " ", say("(not to scale)")),
      ),
  );
}
