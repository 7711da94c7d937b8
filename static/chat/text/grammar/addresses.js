/** Addresses that stand in a text without any mark: where they begin and end. Pure. */

import { LETTER, WIDE } from "./cjk.js";

/** @import { MarkedExtension } from "../../../vendor/marked/marked.esm.js" */

const SCHEME = /^(?:https?:\/\/|ftp:\/\/|www\.)/i;
// What a host begins with: a letter of any script, or an address of IPv6.
const HOSTED = /^[a-z]+(?::\/\/|\.)(?:[\p{L}\p{N}]|\[[\da-f:.]+\])/iu;
// No address holds these unescaped: quotation marks, signs that aren't seen, and what isn't ASCII and is a mark, but for
// the dot between the words of a Japanese name, and dashes and apostrophes between letters; and a footnote's mark. The
// bound is that of browsers.
const ENDS = `[\\s<>"\`“”„«»‹›\\u200b\\u200e\\u200f\\u202a-\\u202e\\u2060-\\u2069\\ufeff]|\\[\\^|(?![!-~～])[\\p{So}\\p{Sm}\\p{Sc}]`;
const ADDRESS = new RegExp(
  `^(?:(?!${ENDS}|[’‘…—](?:[’‘…—]|[${LETTER}])|(?![・･〜～゠])[${WIDE}])[^]){0,2000}`,
  "u",
);
// eslint-disable-next-line no-misleading-character-class -- each of them is meant alone
const TRAILING = /(?:(?![!-~])[\p{P}\p{S}]|[\u200c\u200d\ufe0f]|[?!.,:;*_'~]|&[a-z\d]+;)+$/iu;
// Letters of another script right after a host are the sentence going on, "pier.example看看", and so is "'s".
const HOST = new RegExp(
  `^(?:[a-z]+://)?[a-z0-9.-]*\\.[a-z0-9-]*[a-z0-9](?::\\d+)?(?=['’${LETTER}])`,
  "iu",
);
/** @type {Record<string, string>} */
const OPENING = { ")": "(", "]": "[", "}": "{" };

/**
 * Without what the sentence around it put behind it, as the bracket in which it stands.
 * @param {string} address
 * @returns {string}
 */
function withoutEnd(address) {
  let shorter = address.replace(TRAILING, "");
  const last = shorter.at(-1) ?? "";
  if (OPENING[last] && shorter.split(last).length > shorter.split(OPENING[last]).length)
    shorter = shorter.slice(0, -1);
  return shorter === address ? address : withoutEnd(shorter);
}

/** @type {MarkedExtension} */
export const addresses = {
  tokenizer: {
    url(text) {
      if (!SCHEME.test(text)) return false;
      if (!HOSTED.test(text)) return undefined;
      const written = /** @type {RegExpExecArray} */ (ADDRESS.exec(text))[0];
      const raw = withoutEnd(HOST.exec(written)?.[0] ?? written);
      const shown = raw.replaceAll("&amp;", "&");
      const href = /^www\./i.test(shown) ? `http://${shown}` : shown;
      return {
        type: "link",
        raw,
        text: shown,
        href,
        tokens: [{ type: "text", raw, text: shown, escaped: false }],
      };
    },
  },
};
