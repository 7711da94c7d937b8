/** The strip of the engine's cells: a piece for each message, what is free, and a table of the same. */

import { h, put } from "../elements/dom.js";
import { number, plural, short } from "../state/format.js";

// With more pieces than this there is no room for gaps between them.
const MANY = 60;
// Percent of the strip that a piece without cells takes, and that all of them together may take.
const GONE = 2;
const GONE_ALL = 20;
// What is free is drawn at most so much longer than what is used, or a short chat would be a stroke.
const FREE = 2;
const STATES = { 1: "loaded", 0: "marked for cleanup", [-1]: "unloaded" };

/**
 * @typedef {{key: string, seq: number, role: string, kind: "head"|"message"|"other", start: number, size: number,
 *   status: 1|0|-1, label: string}} Piece `start` -1: it takes no cells now; `size` -1: not known
 * @typedef {Piece & {free?: boolean}} Shown
 */

export class Strip {
  /** @param {{toMessage: (seq: number) => void}} actions */
  constructor(actions) {
    this.actions = actions;
    /** The piece that was chosen, so that it stays so when the strip is drawn anew. */
    this.chosen = "";
    /** @type {Shown[]} */
    this.pieces = [];
  }

  /**
   * @param {Piece[]} strip
   * @param {number} used cells
   * @param {number} free cells
   */
  draw(strip, used, free) {
    this.pieces = free > 0 ? [...strip, { ...FREE_PIECE, start: used, size: free }] : strip;
    const gone = strip.filter((one) => one.start < 0).length;
    const long = Math.min(free, FREE * Math.max(1, used));
    this.told = h("p", { class: "kv-told" });
    this.list = h("div", {
      class: `kv${strip.length > MANY ? " many" : ""}`, role: "listbox", tabindex: "0", "data-key": "kv",
      "aria-label": "What lies in the cache, in order", "aria-orientation": "horizontal",
      on: {
        keydown: (event) => this.#key(event),
        focus: () => this.#choose(Math.max(0, this.#at())),
        mouseleave: () => this.#tell(this.pieces[this.#at()]),
      },
    }, this.pieces.map((one, index) => this.#option(one, index, gone, long)));
    this.#choose(this.#at());
    return [this.list, this.told, legend(strip, free, long < free), this.#table(strip)];
  }

  #option(piece, index, gone, long) {
    const choose = () => this.#choose(index);
    const option = h("i", {
      id: `kv-${index}`, role: "option", class: `kv-${lookOf(piece)}`, "aria-selected": "false", "aria-label": inWords(piece),
      // Focus comes between a press and its click, and what it chooses may move the pieces under the pointer.
      on: { mouseenter: () => this.#tell(piece), pointerdown: choose, click: choose },
    });
    if (piece.start < 0) option.style.flex = `0 0 ${Math.min(GONE, GONE_ALL / gone)}%`;
    else option.style.flexGrow = String(piece.free ? long : piece.size);
    return option;
  }

  #at() {
    return this.pieces.findIndex((one) => nameOf(one) === this.chosen);
  }

  /** @param {number} index -1: none */
  #choose(index) {
    const piece = this.pieces[index];
    this.chosen = piece ? nameOf(piece) : "";
    for (const [place, option] of [...this.list.children].entries()) {
      option.setAttribute("aria-selected", String(place === index));
    }
    if (piece) this.list.setAttribute("aria-activedescendant", `kv-${index}`);
    this.#tell(piece);
  }

  /** @param {Shown|undefined} piece */
  #tell(piece) {
    put(this.told, ...(piece
      ? [inWords(piece), piece.seq > 0 && " · ", piece.seq > 0 && this.#link(piece, "show it")]
      : ["Point at a piece, or go through them with the arrow keys."]));
  }

  #link({ seq }, words) {
    return h("button", { type: "button", class: "link", on: { click: () => this.actions.toMessage(seq) } }, words);
  }

  /** @param {KeyboardEvent} event */
  #key(event) {
    const at = this.#at();
    const last = this.pieces.length - 1;
    if (event.key === "Enter" && this.pieces[at]?.seq > 0) {
      event.preventDefault();
      return this.actions.toMessage(this.pieces[at].seq);
    }
    const to = {
      ArrowRight: at + 1, ArrowDown: at + 1, ArrowLeft: at - 1, ArrowUp: at - 1, Home: 0, End: last,
    }[event.key];
    if (to === undefined) return;
    event.preventDefault();
    this.#choose(Math.min(last, Math.max(0, to)));
  }

  /** Made when it is opened: a long chat has hundreds of rows. */
  #table(strip) {
    const place = h("div", { class: "scroll" });
    const details = h("details", { class: "rest", "data-key": "kv-table" },
      h("summary", {}, "Each piece as a table"), place);
    details.addEventListener("toggle", () => {
      if (details.open && !place.firstChild) put(place, this.#rows(strip));
    });
    return details;
  }

  #rows(strip) {
    return h("table", { class: "kv-table" },
      h("caption", { class: "hidden" }, "What lies in the cache, in order"),
      h("thead", {}, h("tr", {}, ["message", "", "cells", "from", "state"].map((one) => h("th", { scope: "col" },
        one || h("span", { class: "hidden" }, "what it is"))))),
      h("tbody", {}, strip.map((one) => h("tr", {},
        h("th", { scope: "row" }, one.seq > 0 ? this.#link(one, number(one.seq)) : NONE("not a message")),
        h("td", {}, one.kind === "message" ? one.role : one.label || one.role),
        h("td", {}, one.size < 0 ? NONE("not known") : number(one.size)),
        h("td", {}, one.start < 0 ? NONE("nowhere") : number(one.start)),
        h("td", {}, STATES[one.status])))));
  }
}

const FREE_PIECE = { key: "free", seq: 0, role: "", kind: "other", status: 1, label: "", free: true };
const NONE = (words) => h("span", { class: "none", "aria-label": words }, "–");

const nameOf = ({ key, kind, start }) => key || `${kind}:${start}`;

function lookOf({ free, kind, status }) {
  if (free) return "free";
  if (status < 1) return status < 0 ? "gone" : "marked";
  return kind === "message" ? "loaded" : kind;
}

/** "12 user, 31 cells from 184 on, loaded: “And in winter?”" */
function inWords({ free, seq, role, kind, start, size, status, label }) {
  if (free) return `${plural(size, "cell")} free`;
  const who = kind === "message" ? `${seq || ""} ${role}`.trim() : label || role || "no message";
  const cells = start < 0
    ? size > 0 && `took ${plural(size, "cell")}`
    : `${plural(size, "cell")} from ${number(start)} on`;
  const said = kind === "message" && label ? `: “${short(label, 60)}”` : "";
  return `${[who, cells, STATES[status]].filter(Boolean).join(", ")}${said}`;
}

/** What there is of each look, and how much. */
function legend(strip, free, shortened) {
  const looks = { head: "instructions", loaded: "loaded", other: "other", marked: "marked for cleanup" };
  const gone = strip.filter((one) => one.status < 0).length;
  return h("ul", { class: "key" },
    Object.entries(looks).map(([look, words]) => {
      const cells = strip.filter((one) => lookOf(one) === look).reduce((sum, one) => sum + Math.max(0, one.size), 0);
      return cells > 0 && h("li", {}, h("i", { class: `kv-${look}` }), `${words} ${number(cells)}`);
    }),
    gone > 0 && h("li", {}, h("i", { class: "kv-gone" }), `unloaded ${plural(gone, "message")}`),
    free > 0 && h("li", {}, h("i", { class: "kv-free" }), `free ${number(free)}`, shortened && h("small", {}, ", shortened")));
}
