/** One file of the draft: its name and size, the progress of its upload, its actions. */

import { h, pressable, setChildren, setText, textButton } from "../elements/dom.js";
import { icon } from "../elements/icons.js";
import { formatBytes, joinParts } from "../state/format.js";
import { say } from "../words/say.js";

/**
 * @import { Attachment } from "../types/wire.js"
 * @import { DraftFile } from "./draft-file.js"
 */

export class FileChip {
  /**
   * @param {DraftFile} piece
   * @param {{remove: () => void, again: () => void}} actions
   */
  constructor(piece, { remove, again }) {
    this.piece = piece;
    this.name = h("b", { class: "piece-name cut" });
    this.facts = h("span", { class: "piece-facts" });
    this.bar = h("progress", { max: "100", value: "0", hidden: true });
    this.again = textButton(say("Try again"), again, { hidden: true });
    this.remove = pressable({ class: "icon" }, remove, icon("close", 13));
    this.face = h("span", { class: "piece-face", "aria-hidden": "true" });
    this.element = h(
      "li",
      { class: "piece" },
      this.face,
      h("span", { class: "piece-words" }, this.name, this.facts, this.bar, this.again),
      this.remove,
    );
    this.update();
  }

  update() {
    const { name, state, percent, problem, again } = this.piece;
    const going = state === "waiting" || state === "sending";
    this.#look();
    setText(this.name, name);
    this.name.title = name;
    setText(this.facts, describeProgress(this.piece));
    this.element.classList.toggle("failed", state === "failed");
    this.element.classList.toggle("wide", Boolean(problem || this.piece.attachment?.note));
    this.bar.hidden = !going;
    this.bar.value = Math.round(percent);
    this.bar.setAttribute("aria-label", say("Upload of {name}", { name }));
    this.again.hidden = !(problem && again);
    this.again.setAttribute("aria-label", say("Try again: {name}", { name }));
    const act = going
      ? say("Cancel the upload of {name}", { name })
      : say("Remove {name}", { name });
    this.remove.setAttribute("aria-label", act);
    this.remove.title = act;
  }

  focus() {
    this.remove.focus();
  }

  /** A small picture, or the ending of the file's name. */
  #look() {
    const { picture, name } = this.piece;
    if (this.shown === `${picture} ${name}`) return;
    this.shown = `${picture} ${name}`;
    const ending = /\.([A-Za-z0-9]{1,4})$/.exec(name)?.[1]?.toUpperCase() ?? say("File");
    if (!picture) return setChildren(this.face, ending);
    const image = h("img", { src: picture, alt: "", width: 36, height: 36 });
    image.addEventListener("error", () => setChildren(this.face, ending));
    setChildren(this.face, image);
  }
}

/** @param {DraftFile} piece */
function describeProgress({ state, size, percent, problem, attachment }) {
  if (state === "failed") return problem;
  if (state === "waiting") return say("{size} · waiting", { size: formatBytes(size) });
  if (state === "there") return joinParts([formatBytes(size), attachment?.note]);
  return percent < 100
    ? say("{percent}% of {size}", { percent: Math.floor(percent), size: formatBytes(size) })
    : say("{size} · being checked", { size: formatBytes(size) });
}
