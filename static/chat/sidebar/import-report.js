/** What an import brought along, what it left out, and what the model would see of it. */

import { closeButton, fillDialog } from "../elements/dialog.js";
import { byId, h, textButton } from "../elements/dom.js";
import { formatNumber, say, sayCount } from "../words/say.js";

/** @import { ImportReport } from "../types/wire.js" */

export class ImportReportWindow {
  /** @param {(conversation: {id: string, agent: string}) => void} open */
  constructor(open) {
    this.open = open;
    this.dialog = byId("imported", HTMLDialogElement);
  }

  /** @param {ImportReport} report */
  show(report) {
    const { program, left_out } = report;
    fillDialog(
      this.dialog,
      program ? say("Chats from {program}", { program }) : say("Import"),
      [
        h("p", {}, cameAlong(report)),
        this.#line(report),
        left_out.length > 0 && h("h3", { class: "imported-title" }, say("Left out")),
        left_out.length > 0 && h("ul", { class: "imported-list" }, left_out.map(leftOut)),
      ],
      [closeButton("plain-button")],
    );
    if (!this.dialog.open) this.dialog.showModal();
  }

  /** @param {ImportReport} report */
  #line({ line }) {
    if (!line) return null;
    const facts = { ...line, stored: formatNumber(line.stored), sent: formatNumber(line.sent) };
    const words =
      line.sent < line.stored
        ? say("Of the {stored} messages in “{title}”, the model would see {sent} now.", facts)
        : say("The model would see all {stored} messages in “{title}” now.", facts);
    const open = () => (this.dialog.close(), this.open(line));
    return h(
      "div",
      { class: "imported-line" },
      h("p", {}, words),
      textButton(say("Open this chat"), open),
    );
  }
}

/** @param {ImportReport} report */
function cameAlong({ chats, messages, files }) {
  if (!chats) return say("Nothing new came along.");
  const counts = {
    chats: sayCount("{count} chat", "{count} chats", chats),
    messages: sayCount("{count} message", "{count} messages", messages),
    files: sayCount("{count} file", "{count} files", files),
  };
  return files
    ? say("{chats}, {messages} and {files} came along.", counts)
    : say("{chats} and {messages} came along.", counts);
}

/** @param {ImportReport["left_out"][number]} one */
function leftOut({ words, count, titles }) {
  const examples = titles.join(" · ");
  return h(
    "li",
    {},
    h("span", {}, say("{what}: {count}", { what: words, count: formatNumber(count) })),
    examples && h("span", { class: "quiet" }, count > titles.length ? `${examples} …` : examples),
  );
}
