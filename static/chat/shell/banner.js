/** How the connection and the engine are, where that is worth a line. */

import { byId, h, put } from "../elements/dom.js";
import { announce } from "../elements/announce.js";
import { icon } from "../elements/icons.js";

// A line that comes back at once needs no words.
const PATIENCE = 900;

export class Banner {
  constructor() {
    this.timer = 0;
    this.lost = false;
  }

  /** @param {import("../net/connection.js").Line} line */
  line(line) {
    clearTimeout(this.timer);
    if (line === "online") {
      if (this.lost) announce("Connected again.");
      this.lost = false;
      this.#show("");
    } else if (line === "offline" && !this.lost) {
      this.timer = window.setTimeout(() => {
        this.lost = true;
        this.#show("Offline – reconnecting. What you type is kept.");
      }, PATIENCE);
    }
  }

  /** @param {import("../state/state.js").State} state */
  update(state) {
    if (state.deleted) this.#show("This conversation was deleted in another tab. Start a new chat, or undo it there.");
    else if (state.agent?.broken) {
      const { file, key, reason } = state.agent.broken;
      this.#show(`This agent can't answer now: ${file}${key ? `, ${key}` : ""}: ${reason}`);
    } else if (!this.lost) this.#show("");
    this.#engine(state.engine, state.agent?.provider);
  }

  #show(words) {
    const banner = byId("banner");
    if (this.shown === words) return;
    this.shown = words;
    banner.hidden = !words;
    put(banner, words && icon("warn", 14), words && h("span", {}, words));
  }

  /**
   * @param {import("../state/state.js").Engine|null} engine
   * @param {{kind: string, note: string}} [provider]
   */
  #engine(engine, provider) {
    const line = byId("engine");
    const echoed = provider?.kind === "echo" ? provider.note : "";
    const words = engine && engine.state !== "ready" ? engine.sentence : echoed;
    line.hidden = !words;
    if (!words || !engine) {
      this.progress = undefined;
      return put(line);
    }
    line.classList.toggle("bad", engine.state === "unavailable" || Boolean(echoed));
    if (this.progress === undefined) {
      this.words = h("span", {});
      this.progress = h("progress", { max: "1", "aria-label": "Loading the model" });
      put(line, this.words, this.progress);
      announce(words);
    }
    /** @type {HTMLElement} */ (this.words).textContent = words;
    this.progress.hidden = engine.state !== "loading";
    if (engine.progress === null || engine.progress === undefined) this.progress.removeAttribute("value");
    else this.progress.value = engine.progress;
  }
}
