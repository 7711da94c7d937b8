/** The arrow keys in a menu: from button to button, and round again. */

/** @param {HTMLElement} box */
export function walkMenu(box) {
  box.addEventListener("keydown", (event) => {
    const buttons = [...box.querySelectorAll("button")].filter((button) => !button.disabled);
    const at = buttons.indexOf(/** @type {HTMLButtonElement} */ (document.activeElement));
    /** @type {Record<string, number>} */
    const places = { ArrowDown: at + 1, ArrowUp: at - 1, Home: 0, End: -1 };
    const to = places[event.key];
    if (to === undefined || !buttons.length) return;
    event.preventDefault();
    buttons.at(to % buttons.length)?.focus();
  });
}
