/** A part of the page that is loaded when somebody first needs it. */

import { say } from "../words/say.js";
import { showError } from "./toast.js";

/** @template Part */
export class Late {
  /** @param {() => Promise<Part>} load imports the part's modules and makes it */
  constructor(load) {
    this.load = load;
    /** @type {Part|null} null until it was needed */
    this.part = null;
    /** @type {Promise<Part>|null} */
    this.loading = null;
  }

  /**
   * Acts on the part, once it is there; nothing happens but a message where it can't be loaded.
   * @template Result
   * @param {(part: Part) => Result} act
   */
  async use(act) {
    try {
      this.loading ??= this.load();
      this.part = await this.loading;
    } catch {
      this.loading = null;
      // The browser is offline, or the server has a newer version of these files.
      return showError(
        new Error(
          say("This part of the page couldn't be loaded. Reload the page; what you typed is kept."),
        ),
      );
    }
    return act(this.part);
  }
}
