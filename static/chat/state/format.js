/** Numbers, times and sizes as people read them: in the language of the page. Pure. */

import { LANGUAGE, formatNumber, say, sayCount } from "../words/say.js";

export { formatNumber };

/** @param {number} milliseconds */
export function formatDuration(milliseconds) {
  if (milliseconds < 1000) return `${Math.round(milliseconds)} ms`;
  return `${(milliseconds / 1000).toFixed(milliseconds < 10000 ? 1 : 0)} s`;
}

/**
 * "$0.0012": two significant digits, whole cents from 10 cents on.
 * @param {number} value in US dollars
 */
export function formatDollars(value) {
  if (value === 0) return "$0";
  if (value < 0.000001) return say("under $0.000001");
  const digits = value >= 0.1 ? 2 : Math.min(7, 1 - Math.floor(Math.log10(value)));
  return `$${value.toFixed(digits)}`;
}

// English in Europe's order, day before month, with 24 hours.
const DATES = LANGUAGE === "en" ? "en-GB" : LANGUAGE;
const CLOCK = new Intl.DateTimeFormat(DATES, { hour: "2-digit", minute: "2-digit" });
const DATE = new Intl.DateTimeFormat(DATES, { day: "numeric", month: "short", year: "numeric" });
const DAY = new Intl.DateTimeFormat(DATES, { day: "numeric", month: "short" });
const MONTH = new Intl.DateTimeFormat(DATES, { month: "long" });
const MONTH_OF_YEAR = new Intl.DateTimeFormat(DATES, { month: "long", year: "numeric" });

/**
 * "14:05" today, "3 Nov, 14:05" this year, else "3 Nov 2023, 14:05"; "" for an invalid time.
 * @param {string} iso
 * @param {Date} [now]
 */
export function formatTime(iso, now = new Date()) {
  const at = new Date(iso);
  if (Number.isNaN(at.valueOf())) return "";
  const clock = CLOCK.format(at);
  if (at.toDateString() === now.toDateString()) return clock;
  const day = at.getFullYear() === now.getFullYear() ? DAY : DATE;
  return `${day.format(at)}, ${clock}`;
}

/**
 * "5 Dec"
 * @param {string} iso
 */
export const formatDay = (iso) => DAY.format(new Date(iso));

/**
 * "3 Nov 2026" of "2026-11-03", as a date without a time is written.
 * @param {string} day
 */
export function formatDate(day) {
  const at = new Date(`${day}T00:00`);
  return Number.isNaN(at.valueOf()) ? day : DATE.format(at);
}

/**
 * Which group of the sidebar a time belongs to.
 * @param {string} iso
 * @param {Date} [now]
 */
export function dateGroup(iso, now = new Date()) {
  const at = new Date(iso);
  // Rounded: a day in which the clocks change has 23 or 25 hours.
  const days = Math.round((midnightOf(now) - midnightOf(at)) / 86_400_000);
  if (days <= 0) return say("Today");
  if (days === 1) return say("Yesterday");
  if (days <= 7) return say("Previous 7 days");
  if (days <= 30) return say("Previous 30 days");
  const month = at.getFullYear() === now.getFullYear() ? MONTH : MONTH_OF_YEAR;
  return capitalize(month.format(at));
}

/** @param {Date} at */
const midnightOf = (at) => new Date(at.getFullYear(), at.getMonth(), at.getDate()).valueOf();

const UNITS = ["kB", "MB", "GB"];

/**
 * "412 kB", "1.2 MB": in steps of 1024, as the server's limits are.
 * @param {number} size
 */
export function formatBytes(size) {
  if (size < 1024) return sayCount("{count} byte", "{count} bytes", size);
  let power = 1;
  while (power < UNITS.length && size / 1024 ** power >= 999.5) power += 1;
  const value = size / 1024 ** power;
  return `${value < 10 && power > 1 ? Number(value.toFixed(1)) : Math.round(value)} ${UNITS[power - 1]}`;
}

/**
 * Bytes of a text on the wire.
 * @param {string} text
 */
export const byteLength = (text) => new TextEncoder().encode(text).length;

/**
 * Words of a text, as screen readers announce them.
 * @param {string} text
 */
export const countWords = (text) => (text.match(/\S+/gu) ?? []).length;

/**
 * Makes the first letter large: the server sends some sentences as phrases.
 * @param {string} text
 */
export const capitalize = (text) => text.slice(0, 1).toUpperCase() + text.slice(1);

/**
 * What there is of the parts, on one line.
 * @param {(string|number|boolean|null|undefined)[]} parts
 */
export const joinParts = (parts, between = " · ") => parts.filter(Boolean).join(between);

// As much of a text is looked at to shorten it: a megabyte took 50 ms, for every message that is drawn.
const BEGINNING = 10_000;

/**
 * One line of at most `length` characters.
 * @param {string} text
 * @param {number} [length]
 */
export function shorten(text, length = 90) {
  const line = text.slice(0, BEGINNING).replace(/\s+/gu, " ").trim();
  const characters = Array.from(line);
  return characters.length <= length
    ? line
    : `${characters
        .slice(0, length - 1)
        .join("")
        .trimEnd()}…`;
}

/**
 * "The model is busy. Trying again in 3 s."
 * @param {string} sentence
 * @param {number} seconds whole ones; 0 where it isn't known when
 */
export const describeWaiting = (sentence, seconds) =>
  seconds > 0
    ? say("{sentence} Trying again in {seconds} s.", { sentence, seconds })
    : say("{sentence} Trying again.", { sentence });

/**
 * A piece of a message without the signs that format it.
 * @param {string} text
 */
export const withoutMarkup = (text) => text.replace(/\*\*|__|`+|^#+ /gmu, "");

/**
 * "4,027 of 3,840 tokens: 187 too many"
 * @param {{prompt_tokens: number, limit: number}} decision
 */
export const describeTooMany = ({ prompt_tokens: tokens, limit }) =>
  say("{tokens} of {limit} tokens: {more} too many", {
    tokens: formatNumber(tokens),
    limit: formatNumber(Math.max(0, limit)),
    more: formatNumber(tokens - Math.max(0, limit)),
  });
