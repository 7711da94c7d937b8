/** The panel's table of settings: which source decided each, and why the others lost. */

import { h } from "../elements/dom.js";
import { say, sayCount } from "../words/say.js";
import { none, table, unseen } from "./table.js";
import { term } from "./terms.js";

/**
 * @import { SettingWords } from "../types/page.js"
 * @import { Decision, Setting } from "../types/wire.js"
 * @import { Section } from "./panel.js"
 */

/** @type {Record<string, string>} */
export const SOURCES = {
  environment: say("environment"),
  URL: say("URL"),
  conversation: say("chat"),
  room: say("room"),
  template: say("agent"),
  "built in": say("default"),
};
/** @type {Record<string, string>} */
const LOSSES = {
  overruled: say("overridden"),
  locked: say("ignored"),
  bad: say("not valid"),
  "not allowed": say("not allowed"),
};

/** @typedef {{name: string, words: SettingWords, setting: Setting}} Row */

/**
 * @param {Decision} decision
 * @param {Record<string, SettingWords>} words what people read of each setting, by its name
 * @returns {Section}
 */
export function settingsSection(decision, words) {
  const { conversation = {}, ...own } = decision.settings;
  const rows = Object.entries({ ...own, ...conversation }).map(([name, setting]) => ({
    name,
    setting,
    words: words[name] ?? unknown(name),
  }));
  const shown = rows.filter((row) => row.words.always_shown || isSet(row.setting));
  const rest = rows.filter((one) => !shown.includes(one));
  const sources = sourcesOf(rows);
  return {
    data: rows,
    draw: () => [
      h("h3", {}, term("sources", say("Where each setting came from"))),
      settingsTable(shown, sources),
      lossReasons(rows),
      rest.length > 0 &&
        h(
          "details",
          { class: "rest", "data-key": "settings-rest" },
          h(
            "summary",
            {},
            sayCount(
              "{count} more setting, at its default",
              "{count} more settings, all at their defaults",
              rest.length,
            ),
          ),
          settingsTable(rest, sources),
        ),
    ],
  };
}

/**
 * The words for a setting that an old receipt has and this version hasn't.
 * @param {string} name
 * @returns {SettingWords}
 */
const unknown = (name) => ({ label: name.replaceAll("_", " "), about: "", always_shown: false });

/**
 * Whether any source but the built-in one sets it.
 * @param {Setting} setting
 */
const isSet = (setting) =>
  setting.said.some((one) => one.source !== "built in" && one.outcome !== "absent");

/**
 * The sources that may say something: no link and no choice in the page sets anything for a room.
 * @param {Row[]} rows all of them
 */
function sourcesOf(rows) {
  const inRoom = rows.some(({ setting }) => setting.said.some(({ source }) => source === "room"));
  const missing = inRoom ? ["URL", "conversation"] : ["room"];
  return Object.keys(SOURCES).filter((source) => !missing.includes(source));
}

/**
 * @param {Row[]} rows
 * @param {string[]} sources the columns
 */
function settingsTable(rows, sources) {
  return table(
    "sources",
    "",
    [unseen(say("setting")), ...sources.map((source) => SOURCES[source])],
    rows.map(({ name, words, setting }) =>
      h(
        "tr",
        {},
        h("th", { scope: "row" }, term(`setting-${name}`, words.label, words.about)),
        sources.map((source) => h("td", {}, cells(setting, source))),
      ),
    ),
    { role: "group", tabindex: "0", "aria-label": say("Settings by source") },
  );
}

/**
 * The values that one source gives one setting; the environment may give it under two names.
 * @param {Setting} setting
 * @param {string} source
 */
function cells(setting, source) {
  const values = setting.said.filter((one) => one.source === source && one.outcome !== "absent");
  if (!values.length) {
    const won = setting.source === source;
    return won ? h("span", { class: "win" }, formatValue(setting.value)) : none(say("nothing"));
  }
  return values.map((one) => {
    // A built-in value of none has no text.
    const value = one.raw ?? (one.outcome === "won" ? formatValue(setting.value) : say("none"));
    if (one.outcome === "won") return h("span", { class: "win" }, formatValue(value));
    const loss = LOSSES[one.outcome] ?? one.outcome;
    return h(
      "span",
      { class: `lost ${one.outcome === "bad" ? "bad" : ""}`, title: one.why || loss },
      h("s", {}, formatValue(value)),
      unseen(` (${loss})`),
    );
  });
}

/** @param {unknown} value */
const formatValue = (value) =>
  value === null || value === undefined || value === "" ? say("none") : String(value);

/**
 * The struck-out values of the table, as sentences.
 * @param {Row[]} rows
 */
function lossReasons(rows) {
  const values = rows.flatMap(({ setting }) =>
    setting.said.filter(
      (one) => one.outcome in LOSSES && one.raw !== null && one.source !== "built in" && one.why,
    ),
  );
  const telling = values.filter((one) => one.outcome !== "overruled" || one.source !== "template");
  if (!telling.length) return null;
  return h(
    "ul",
    { class: "reasons" },
    telling.map((one) =>
      h(
        "li",
        { class: one.outcome === "bad" ? "bad" : "" },
        h("b", {}, SOURCES[one.source] ?? one.source, " "),
        h("code", {}, `${one.name}=${one.raw}`),
        ` ${LOSSES[one.outcome]}: ${one.why}`,
      ),
    ),
  );
}
