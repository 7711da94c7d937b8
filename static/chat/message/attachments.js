/** Files in messages: pictures as small pictures that open in full, everything else as a line. */

import { closeButton, fillDialog } from "../elements/dialog.js";
import { byId, h, pressable } from "../elements/dom.js";
import { fileAddress } from "../net/address.js";
import { formatBytes, formatNumber } from "../state/format.js";
import { say } from "../words/say.js";

/** @import { Attachment } from "../types/wire.js" */

// A small picture fits into this, in CSS pixels.
const WIDEST = 280;
const HIGHEST = 200;

/**
 * Files that the server has, as a list; hidden without any.
 * @param {Attachment[]} attachments
 * @returns {HTMLElement}
 */
export function attachmentList(attachments) {
  return h(
    "ul",
    { class: "files", "aria-label": say("Files"), hidden: attachments.length === 0 },
    attachments.map((one) => h("li", {}, isPicture(one) ? picture(one) : line(one))),
  );
}

/** @param {Attachment} attachment */
export const isPicture = ({ modality }) => modality === "image";

/**
 * "File: survey.pdf · 412 kB": a link that downloads the file.
 * @param {Attachment} attachment
 */
function line({ id, name, size }) {
  return h(
    "a",
    { class: "file", href: fileAddress(id), download: name },
    h("span", { class: "file-name" }, say("File: {name}", { name })),
    h("span", { class: "file-size" }, ` · ${formatBytes(size)}`),
  );
}

/**
 * A small picture that opens in full. Its size is set before it is loaded, so that nothing jumps.
 * @param {Attachment} attachment
 */
function picture(attachment) {
  const { id, name } = attachment;
  const { width, height } = fitSize(attachment, WIDEST, HIGHEST);
  const image = h("img", {
    src: fileAddress(id),
    alt: name,
    width,
    height,
    loading: "lazy",
    decoding: "async",
  });
  const button = pressable(
    { class: "thumb", "aria-haspopup": "dialog", title: say("Show {name}", { name }) },
    () => show(attachment),
    image,
  );
  // A picture that can't be drawn can still be downloaded.
  image.addEventListener("error", () => button.replaceWith(line(attachment)));
  return button;
}

/**
 * The size that fits these bounds, never enlarged; a square where the size isn't known.
 * @param {{width: number, height: number}} size
 * @param {number} widest
 * @param {number} highest
 */
function fitSize({ width, height }, widest, highest) {
  if (!width || !height) return { width: highest, height: highest };
  const scale = Math.min(1, widest / width, highest / height);
  return {
    width: Math.max(1, Math.round(width * scale)),
    height: Math.max(1, Math.round(height * scale)),
  };
}

/** @param {Attachment} attachment */
function show({ id, name, size, width, height }) {
  const dialog = byId("picture", HTMLDialogElement);
  const facts =
    width && height
      ? `${formatNumber(width)} × ${formatNumber(height)} · ${formatBytes(size)}`
      : formatBytes(size);
  fillDialog(
    dialog,
    name,
    [h("img", { src: fileAddress(id), alt: name, width: width || null, height: height || null })],
    [
      h("span", { class: "quiet" }, facts),
      h("a", { class: "plain-button", href: fileAddress(id), download: name }, say("Download")),
      closeButton(),
    ],
  );
  dialog.showModal();
}
