/** Blanks in a prompt: {{topic}}, {{topic=the sea}} with a default, {{tone:friendly|formal}} with choices. Pure. */

/** @typedef {{name: string, choices: string[], usual: string}} Blank `usual`: what stands there if nothing is filled in */

const BLANK =
  /\{\{\s*([^{}:=|\s](?:[^{}:=|\n]{0,38}[^{}:=|\s])?)\s*(?:=([^{}\n]*)|:([^{}\n]*))?\}\}/gu;

/**
 * The blanks of a text, each name once, in their order.
 * @param {string} text
 * @returns {Blank[]}
 */
export function blanksOf(text) {
  /** @type {Map<string, Blank>} */
  const found = new Map();
  for (const [, name, usual = "", offered = ""] of text.matchAll(BLANK)) {
    const choices = offered.split("|").flatMap((one) => one.trim() || []);
    const known = found.get(name);
    if (!known) found.set(name, { name, choices, usual: usual.trim() || (choices[0] ?? "") });
    // It may be named shortly first, and with its choices further down.
    else if (!known.usual)
      Object.assign(known, { choices, usual: usual.trim() || (choices[0] ?? "") });
  }
  return [...found.values()];
}

/**
 * The text with its blanks filled; one without a value or a default stays as it is written.
 * @param {string} text
 * @param {Map<string, string>} values by name
 */
export function fillBlanks(text, values) {
  const usual = new Map(blanksOf(text).map((one) => [one.name, one.usual]));
  return text.replace(BLANK, (whole, name) => values.get(name)?.trim() || usual.get(name) || whole);
}
