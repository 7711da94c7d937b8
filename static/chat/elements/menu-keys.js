/** The arrow keys in a menu or a row of buttons: from one to the next, and round again. */

/**
 * @param {KeyboardEvent} event
 * @param {HTMLElement[]} buttons
 * @param {Record<string, number>} steps how far each arrow key leads
 */
export function walk(event, buttons, steps) {
  const at = buttons.indexOf(/** @type {HTMLElement} */ (document.activeElement));
  const to = { Home: 0, End: -1 }[event.key] ?? at + steps[event.key];
  if (Number.isNaN(to) || !buttons.length) return;
  event.preventDefault();
  buttons.at(to % buttons.length)?.focus();
}

/** @param {HTMLElement} box */
export function walkMenu(box) {
  box.addEventListener("keydown", (event) => {
    const buttons = [...box.querySelectorAll("button")].filter((button) => !button.disabled);
    walk(event, buttons, { ArrowDown: 1, ArrowUp: -1 });
  });
}
