/** Shows a page or a drawing from an answer, in a frame that reaches neither the page nor the network. */

import { copy } from "../elements/clipboard.js";
import { closeButton, fillDialog } from "../elements/dialog.js";
import { h, pressable } from "../elements/dom.js";
import { readPage } from "../net/page-data.js";
import { say } from "../words/say.js";
import { download } from "./download.js";

const KINDS = { html: "text/html", svg: "image/svg+xml" };

/**
 * Opens the window. Closing it takes the frame away, with whatever runs there.
 * @param {string} source
 * @param {"html"|"svg"} language a drawing runs no script
 */
export function openPreview(source, language) {
  const dialog = h("dialog", {
    class: "box preview-box",
    id: "preview",
    "aria-labelledby": "preview-title",
  });
  const frame = h("iframe", {
    src: readPage().urls.preview,
    sandbox: "allow-scripts",
    title: say("Preview"),
    referrerpolicy: "no-referrer",
  });
  const copyButton = pressable(
    { class: "plain-button" },
    () => copy(source, copyButton),
    say("Copy"),
  );
  const keep = () => download(source, `preview.${language}`, KINDS[language]);
  fillDialog(
    dialog,
    say("Preview"),
    [frame],
    [copyButton, pressable({ class: "plain-button" }, keep, say("Download")), closeButton()],
  );
  const hear = (/** @type {MessageEvent} */ { source: from, data }) => {
    // Its origin has no name that could be given here; what is sent is in the page already.
    if (from === frame.contentWindow && data?.ready)
      frame.contentWindow?.postMessage({ source, scripts: language === "html" }, "*");
  };
  addEventListener("message", hear);
  dialog.addEventListener("close", () => {
    removeEventListener("message", hear);
    dialog.remove();
  });
  document.body.append(dialog);
  dialog.showModal();
  /** @type {HTMLElement|null} */ (dialog.querySelector(".primary"))?.focus();
}
