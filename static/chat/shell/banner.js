/** Lines about the connection and the engine, where something is wrong or takes time. */

import { announce } from "../elements/announce.js";
import { byId, h, setChildren } from "../elements/dom.js";
import { icon } from "../elements/icons.js";
import { say } from "../words/say.js";

/**
 * @import { ConnectionState } from "../net/connection.js"
 * @import { State } from "../types/state.js"
 * @import { Engine, Provider } from "../types/wire.js"
 */

// In ms: a shorter interruption isn't mentioned.
const PATIENCE = 900;

export class Banner {
  constructor() {
    this.timer = 0;
    this.lost = false;
    this.shown = "";
    this.words = h("span", {});
    /** @type {HTMLProgressElement|null} */
    this.progress = null;
  }

  /**
   * @param {ConnectionState} line
   * @param {string} [reason] why the server closed the connection, where it says so
   */
  showConnection(line, reason = "") {
    clearTimeout(this.timer);
    if (line === "online") {
      if (this.lost) announce(say("Connected again."));
      this.lost = false;
      this.#show("");
    } else if (line === "offline" && reason) {
      this.lost = true;
      this.#show(reason);
    } else if (line === "offline" && !this.lost) {
      this.timer = window.setTimeout(() => {
        this.lost = true;
        this.#show(say("Offline – reconnecting. What you type is kept."));
      }, PATIENCE);
    }
  }

  /** @param {State} state */
  update(state) {
    if (state.deleted && state.conversation?.temporary)
      this.#show(say("This temporary chat was closed. Nothing of it is kept."));
    else if (state.deleted)
      this.#show(
        say("This conversation was deleted in another tab. Start a new chat, or undo it there."),
      );
    else if (state.agent?.broken) {
      const { file, key, reason } = state.agent.broken;
      this.#show(
        file
          ? say("This agent can't answer now: {place}: {reason}", {
              place: [file, key].filter(Boolean).join(", "),
              reason,
            })
          : reason,
      );
    } else if (!this.lost) this.#show("");
    this.#engine(state.engine, state.agent?.provider);
  }

  /** @param {string} words */
  #show(words) {
    const banner = byId("banner");
    if (this.shown === words) return;
    this.shown = words;
    banner.hidden = !words;
    setChildren(banner, words && icon("warn", 14), words && h("span", {}, words));
  }

  /**
   * @param {Engine|null} engine
   * @param {Provider|null} [provider]
   */
  #engine(engine, provider) {
    const line = byId("engine");
    const echoed = provider?.kind === "echo" ? provider.note : "";
    const words = engine && engine.state !== "ready" ? engine.sentence : echoed;
    line.hidden = !words;
    if (!words || !engine) {
      this.progress = null;
      return setChildren(line);
    }
    line.classList.toggle("bad", engine.state === "unavailable" || Boolean(echoed));
    if (this.progress === null) {
      this.words = h("span", {});
      this.progress = h("progress", { max: "1", "aria-label": say("Loading the model") });
      setChildren(line, this.words, this.progress);
      announce(words);
    }
    this.words.textContent = words;
    this.progress.hidden = engine.state !== "loading";
    if (engine.progress === null || engine.progress === undefined)
      this.progress.removeAttribute("value");
    else this.progress.value = engine.progress;
  }
}
