/**
 * The words of the interface. The English text in the code is the catalogue's key; a language has a translation of it,
 * English has none. A text with values names them in braces: `say("{name} is typing", { name })`.
 */

/** @typedef {Record<string, string|number>} Values */

/** @typedef {Readonly<Record<string, string|string[]>>} Catalogue several forms where a count decides */

/** The language of the page, for numbers, dates and plurals too. */
export const LANGUAGE = globalThis.document?.documentElement.lang || "en";

const NUMBER = new Intl.NumberFormat(LANGUAGE);
const PLURAL = new Intl.PluralRules(LANGUAGE);
// A catalogue's plural forms have this order, without those that the language doesn't have.
const FORMS = ["zero", "one", "two", "few", "many", "other"].filter((form) =>
  PLURAL.resolvedOptions().pluralCategories.some((known) => known === form),
);

/** @type {Catalogue} */
let catalogue = {};

/**
 * Sets the translations, once, before any other module is read: tables of texts are made when a module is.
 * @param {Catalogue} translations by the English text
 */
export function setCatalogue(translations) {
  catalogue = translations;
}

/** @param {number} value */
export const formatNumber = (value) => NUMBER.format(value);

/**
 * One text of the interface, with its values.
 * @param {string} text in English; `{name}` stands for a value
 * @param {Values} [values]
 */
export function say(text, values = {}) {
  const found = catalogue[text] ?? text;
  return fill(typeof found === "string" ? found : found[0], values);
}

/**
 * The text for one, or the text for several; `{count}` stands for the number.
 * @param {string} one
 * @param {string} many
 * @param {number} count
 * @param {Values} [values]
 */
export function sayCount(one, many, count, values = {}) {
  const found = catalogue[one];
  // Browsers have a form for millions in French and Spanish, which catalogues don't.
  const form = Array.isArray(found)
    ? found[Math.min(FORMS.indexOf(PLURAL.select(count)), found.length - 1)]
    : found;
  return fill(form ?? (count === 1 ? one : many), { count: formatNumber(count), ...values });
}

/**
 * @param {string} text
 * @param {Values} values
 */
const fill = (text, values) =>
  text.replace(/\{(\w+)\}/g, (whole, name) => String(values[name] ?? whole));
