/** The filters of the search as fields: they write what could be typed into the search field, and read it there. */

import { h, setChildren } from "../elements/dom.js";
import { say } from "../words/say.js";

/** @import { Page } from "../types/page.js" */

/** @param {string} name of a filter */
const written = (name) => new RegExp(`(?<!\\S)${name}:("[^"]*"?|[^\\s"]+)`, "gi");

/**
 * @param {string} text of the search field
 * @param {string} token a filter as it was typed, which goes
 */
export const withoutFilter = (text, token) =>
  ` ${text} `.replace(` ${token} `, " ").replaceAll(/\s+/g, " ").trim();

/**
 * @param {string} text of the search field
 * @param {string} name
 * @param {string} value "" for none
 */
export function withFilter(text, name, value) {
  const safe = value.replaceAll('"', "").trim();
  const token = safe && `${name}:${/\s/.test(safe) ? `"${safe}"` : safe}`;
  // Behind the words, which stay in sight.
  return `${text.replaceAll(written(name), "")} ${token}`.replaceAll(/\s+/g, " ").trim();
}

/**
 * @param {string} text of the search field
 * @param {string} name
 */
export const valueOf = (text, name) =>
  [...text.matchAll(written(name))].at(-1)?.[1].replaceAll('"', "") ?? "";

export class SearchFilters {
  /**
   * @param {Page} page
   * @param {{find: HTMLInputElement, button: HTMLElement}} parts
   */
  constructor(page, { find, button }) {
    this.page = page;
    this.find = find;
    this.button = button;
    this.box = h("form", { class: "filters", id: "filter-fields", "aria-label": say("Filters") });
    this.box.hidden = true;
    this.box.addEventListener("submit", (event) => event.preventDefault());
    this.box.addEventListener("keydown", (event) => {
      if (event.key !== "Escape") return;
      event.stopPropagation();
      this.toggle();
    });
    button.closest(".find")?.after(this.box);
    button.setAttribute("aria-controls", "filter-fields");
    // What is typed meanwhile shows in the fields, too.
    find.addEventListener("input", () => !this.box.hidden && this.#fill());
  }

  toggle() {
    this.box.hidden = !this.box.hidden;
    this.button.setAttribute("aria-expanded", String(!this.box.hidden));
    if (this.box.hidden) return this.button.focus();
    this.#draw();
    this.box.querySelector("select")?.focus();
  }

  #draw() {
    const agents = this.page.agents.map(({ slug, name }) => h("option", { value: slug }, name));
    setChildren(
      this.box,
      labelled(
        say("Agent"),
        h("select", { name: "agent" }, h("option", { value: "" }, say("Any")), agents),
      ),
      labelled(say("From"), h("input", { type: "date", name: "after" })),
      labelled(say("Before"), h("input", { type: "date", name: "before" })),
      labelled(say("Folder"), h("input", { type: "text", name: "folder", maxlength: "60" })),
      h(
        "div",
        { class: "filter-marks" },
        [
          { mark: "bookmarked", words: say("Bookmarked") },
          { mark: "pinned", words: say("Pinned") },
          { mark: "archived", words: say("Archived") },
        ].map(({ mark, words }) =>
          h("label", {}, h("input", { type: "checkbox", name: "is", value: mark }), words),
        ),
      ),
    );
    this.box.onchange = (event) => this.#changed(/** @type {HTMLInputElement} */ (event.target));
    this.#fill();
  }

  #fill() {
    const fields = /** @type {NodeListOf<HTMLInputElement>} */ (
      this.box.querySelectorAll("[name]")
    );
    const marks = [...this.find.value.matchAll(written("is"))].map(([, one]) => one.toLowerCase());
    for (const field of fields) {
      if (field === document.activeElement) continue;
      if (field.name === "is") field.checked = marks.includes(field.value);
      else field.value = valueOf(this.find.value, field.name);
    }
  }

  /** @param {HTMLInputElement} field */
  #changed(field) {
    const { value: text } = this.find;
    const mark = ["is", field.value].join(":");
    if (field.name !== "is") this.find.value = withFilter(text, field.name, field.value);
    else if (field.checked) this.find.value = [text.trim(), mark].join(" ").trim();
    else this.find.value = withoutFilter(text, mark);
    this.find.dispatchEvent(new Event("input"));
  }
}

/** @type {(words: string, field: HTMLElement) => HTMLElement} */
const labelled = (words, field) => h("label", {}, h("span", {}, words), field);
