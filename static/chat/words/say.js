/**
 * The words of the interface. The English text in the code is the catalogue's key; a language has a translation of it,
 * English has none. A text with values names them in braces: `say("{count} files", { count: 2 })`.
 */

/** @typedef {Record<string, string|number>} Values */

/** @type {Readonly<Record<string, string>>} */
let catalogue = {};

/**
 * Sets the translations, once, before the page draws anything.
 * @param {Readonly<Record<string, string>>} translations by the English text
 */
export function setCatalogue(translations) {
  catalogue = translations;
}

/**
 * One text of the interface, with its values.
 * @param {string} text in English; `{name}` stands for a value
 * @param {Values} [values]
 */
export function say(text, values = {}) {
  return (catalogue[text] ?? text).replace(/\{(\w+)\}/g, (whole, name) => String(values[name] ?? whole));
}

/**
 * The text for one, or the text for several.
 * @param {string} one
 * @param {string} many
 * @param {number} count
 * @param {Values} [values]
 */
export const sayCount = (one, many, count, values = {}) => say(count === 1 ? one : many, { count, ...values });
