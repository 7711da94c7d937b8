/** How files reach the message box: chosen with its button, dropped on the chat, or pasted. */

import { byId, h } from "../elements/dom.js";
import { say } from "../words/say.js";

/** @typedef {{add: (files: File[]) => void, refuse: (sentence: string) => void}} Takers */

/**
 * @param {HTMLButtonElement} button
 * @param {(files: File[]) => void} add
 */
export function onFilesChosen(button, add) {
  const chooser = h("input", {
    type: "file",
    multiple: true,
    class: "hidden",
    tabindex: "-1",
    "aria-hidden": "true",
  });
  button.after(chooser);
  button.addEventListener("click", () => chooser.click());
  chooser.addEventListener("change", () => {
    add([...(chooser.files ?? [])]);
    chooser.value = "";
  });
}

/**
 * Takes files that are dropped on the chat, and shows the place while they are dragged over it.
 * @param {Takers} takers
 */
export function onFilesDropped({ add, refuse }) {
  const area = byId("chat");
  const target = byId("drop");
  /** @param {boolean} on */
  const show = (on) => {
    target.hidden = !on;
  };
  area.addEventListener("dragover", (/** @type {DragEvent} */ event) => {
    if (!bringsFiles(event)) return;
    event.preventDefault();
    event.stopPropagation();
    if (event.dataTransfer) event.dataTransfer.dropEffect = "copy";
    show(true);
  });
  area.addEventListener("dragleave", (/** @type {DragEvent} */ event) => {
    if (!area.contains(/** @type {Node|null} */ (event.relatedTarget))) show(false);
  });
  area.addEventListener("drop", (/** @type {DragEvent} */ event) => {
    if (!bringsFiles(event)) return;
    event.preventDefault();
    event.stopPropagation();
    show(false);
    const { files, folders } = filesAndFolders(/** @type {DataTransfer} */ (event.dataTransfer));
    if (files.length) add(files);
    if (folders) refuse(say("A folder can't be added. Choose the files in it."));
  });
  // A file dropped beside the chat would replace the page.
  for (const name of ["dragover", "drop"]) {
    addEventListener(name, (event) => {
      if (!bringsFiles(/** @type {DragEvent} */ (event))) return;
      event.preventDefault();
      const { dataTransfer } = /** @type {DragEvent} */ (event);
      if (dataTransfer) dataTransfer.dropEffect = "none";
    });
  }
}

/**
 * @param {(event: ClipboardEvent, files: File[]) => void} take called for every paste that isn't meant for another field
 */
export function onPaste(take) {
  document.addEventListener("paste", (event) => {
    const { target } = event;
    const elsewhere =
      target instanceof Element && target.closest("input, textarea, dialog, [contenteditable]");
    if (elsewhere && elsewhere !== byId("draft")) return;
    take(event, filesOf(event.clipboardData));
  });
}

/** @param {DragEvent} event */
const bringsFiles = (event) => [...(event.dataTransfer?.types ?? [])].includes("Files");

/**
 * A folder looks like a file without a type until it is read.
 * @param {DataTransfer} transfer
 */
function filesAndFolders(transfer) {
  const entries = [...transfer.items].filter(({ kind }) => kind === "file");
  /** @param {DataTransferItem} item */
  const isFolder = (item) => item.webkitGetAsEntry?.()?.isDirectory ?? false;
  const files = entries.filter((item) => !isFolder(item)).flatMap((item) => item.getAsFile() ?? []);
  return { files, folders: entries.some(isFolder) };
}

/**
 * Office programs add a picture of the text they copy: there the text is meant.
 * @param {DataTransfer|null} clipboard
 */
function filesOf(clipboard) {
  const files = [...(clipboard?.files ?? [])];
  const formatted =
    clipboard?.types.includes("text/html") && clipboard.getData("text/plain").trim();
  return formatted ? [] : files.map(withName);
}

/**
 * A picture from the clipboard has no name of its own.
 * @param {File} file
 */
const withName = (file) =>
  /^image\.\w+$/.test(file.name)
    ? new File([file], say("pasted {name}", { name: file.name }), { type: file.type })
    : file;

/**
 * @param {string} text
 * @param {string[]} names those that are taken
 */
export function textFile(text, names) {
  let name = say("pasted text.txt");
  for (let count = 2; names.includes(name); count += 1)
    name = say("pasted text {count}.txt", { count });
  return new File([text], name, { type: "text/plain" });
}
