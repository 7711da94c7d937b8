/** Text that stays as it was written, and why. */

import { h } from "../elements/dom.js";
import { RIGHT_TO_LEFT } from "./directions.js";
import { say } from "../words/say.js";

// Above it nothing is parsed: the longest answers of today's models have about half of it.
export const LONGEST = 200_000;
export const UNREADABLE = say("it couldn't be formatted.");

// In characters: as long as a greeting gets.
const LONGEST_PROSE = 500;
const PROSE = /^\p{L}[\p{L}\p{M}\p{N} ,.;!?'’“”…–—()-]*$/u;
const ADDRESS = /www\./i;

/**
 * Whether a text is one paragraph in which nothing means anything to Markdown, as most greetings are.
 * @param {string} text
 */
export const isProse = (text) =>
  text.length <= LONGEST_PROSE &&
  PROSE.test(text) &&
  !ADDRESS.test(text) &&
  !RIGHT_TO_LEFT.test(text);

/**
 * The text as it was written.
 * @param {string} text
 */
export const renderPlain = (text) => h("div", { class: "plain" }, text);

/** @param {string} why completes "Shown as plain text: …" */
export const plainNote = (why) =>
  h("p", { class: "plain-note" }, say("Shown as plain text: {why}", { why: say(why) }));
