/**
 * Links footnotes with the places that refer to them. Until both are there, a number is raised as it will be, and any
 * other name stands as it was written: "[^a-z]" may mean letters.
 */

import { h, pressable } from "../elements/dom.js";
import { say } from "../words/say.js";
import { NOTE, REFERENCE } from "./grammar/footnotes.js";

const NUMBER = /^\d{1,3}$/;

/**
 * Puts numbers, or what was written, in the place of the marks that `footnotes.js` made.
 * @param {DocumentFragment} fragment that is sanitised
 */
export function writeFootnotes(fragment) {
  for (const [kind, end] of [
    [REFERENCE, ""],
    [NOTE, ":"],
  ]) {
    for (const mark of fragment.querySelectorAll(`code.${kind}`)) {
      const name = mark.textContent ?? "";
      const shown = !NUMBER.test(name)
        ? `[^${name}]${end}`
        : kind === NOTE
          ? `${name}.`
          : h("sup", {}, name);
      mark.replaceWith(h("span", { class: kind, "data-name": name }, shown));
    }
  }
}

/**
 * Links what belongs together in a whole text; a second time does nothing.
 * @param {HTMLElement} text
 */
export function linkFootnotes(text) {
  /** @type {Map<string|undefined, HTMLElement>} */
  const notes = new Map();
  for (const note of marks(text, NOTE))
    if (!notes.has(note.dataset.name)) notes.set(note.dataset.name, note);
  if (!notes.size) return;
  const references = marks(text, REFERENCE).filter(({ dataset }) => notes.has(dataset.name));
  const numbers = [...new Set(references.map(({ dataset }) => dataset.name))];
  for (const reference of references) {
    const note = /** @type {HTMLElement} */ (notes.get(reference.dataset.name));
    if (!reference.querySelector("button"))
      linkOne(reference, note, numbers.indexOf(reference.dataset.name) + 1);
  }
}

/**
 * @param {HTMLElement} reference
 * @param {HTMLElement} note
 * @param {number} number
 */
function linkOne(reference, note, number) {
  const paragraph = /** @type {HTMLElement} */ (note.parentElement);
  const label = say("Footnote {number}", { number });
  const link = pressable({ "aria-label": label }, () => goTo(paragraph), String(number));
  reference.replaceChildren(link);
  // Of several references the first one is led back to.
  if (paragraph.classList.contains("footnote")) return;
  paragraph.classList.add("footnote");
  paragraph.tabIndex = -1;
  note.textContent = `${number}.`;
  const back = say("Back to the text");
  paragraph.append(
    " ",
    pressable({ "aria-label": back, title: back }, () => goTo(link), "↩"),
  );
}

/** @param {HTMLElement} place */
function goTo(place) {
  place.focus({ preventScroll: true });
  place.scrollIntoView({ block: "nearest" });
}

/**
 * @param {HTMLElement} text
 * @param {string} kind
 */
const marks = (text, kind) => /** @type {HTMLElement[]} */ ([...text.querySelectorAll(`.${kind}`)]);
