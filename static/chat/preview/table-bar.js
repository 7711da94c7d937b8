/** What stands below a table of an answer: copy it, or keep it as a file. */

import { copy } from "../elements/clipboard.js";
import { h, pressable } from "../elements/dom.js";
import { say } from "../words/say.js";
import { toCsv, toTabs } from "./csv.js";
import { download } from "./download.js";

/** @param {HTMLTableElement} table */
export function tableBar(table) {
  const rows = () =>
    [...table.rows].map((row) => [...row.cells].map((cell) => (cell.textContent ?? "").trim()));
  const button = pressable(
    { class: "code-copy", "aria-label": say("Copy the table") },
    () => copy(toTabs(rows()), button),
    say("Copy"),
  );
  return h(
    "div",
    { class: "table-bar" },
    button,
    pressable(
      { class: "code-copy" },
      () => download(toCsv(rows()), "table.csv", "text/csv"),
      say("Download CSV"),
    ),
  );
}
