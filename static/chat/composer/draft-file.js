/** One file of a draft, from its upload to the sent message. */

import { isPicture } from "../message/attachments.js";
import { fileAddress } from "../net/address.js";
import { formatBytes } from "../state/format.js";
import { say } from "../words/say.js";

/** @import { Attachment } from "../types/wire.js" */

/**
 * One file of a draft. `again`: a failed upload can be tried once more; `picture` is the address of its
 * small picture, "" where it has none; `flight`: the upload under way.
 * @typedef {{name: string, size: number, file: File|null, state: "waiting"|"sending"|"there"|"failed",
 *   percent: number, problem: string, again: boolean, picture: string,
 *   attachment: Attachment|null, flight: {cancel: () => void}|null}} DraftFile
 */

// The pictures that browsers draw before they are uploaded.
const DRAWN = ["image/jpeg", "image/png", "image/gif", "image/webp", "image/bmp"];

/**
 * A file that was added: it waits for its upload, or can't be uploaded.
 * @param {File} file
 * @param {number} most bytes that a file may have
 * @returns {DraftFile}
 */
export function newFile(file, most) {
  const { name, size } = file;
  const problem =
    size === 0
      ? say("It is empty.")
      : size > most
        ? say("A file can have at most {most}.", { most: formatBytes(most) })
        : "";
  return {
    name,
    size,
    file,
    problem,
    state: problem ? "failed" : "waiting",
    percent: 0,
    again: false,
    picture: DRAWN.includes(file.type) && !problem ? URL.createObjectURL(file) : "",
    attachment: null,
    flight: null,
  };
}

/**
 * The attachments of the uploaded files.
 * @param {DraftFile[]} pieces
 */
export const attachmentsOf = (pieces) =>
  pieces.flatMap(({ attachment }) => (attachment ? [attachment] : []));

/**
 * A file that the server already has.
 * @param {Attachment} attachment
 * @returns {DraftFile}
 */
export function uploadedFile(attachment) {
  const { id, name, size } = attachment;
  return {
    name,
    size,
    file: null,
    state: "there",
    percent: 100,
    problem: "",
    again: false,
    picture: isPicture(attachment) ? fileAddress(id) : "",
    attachment,
    flight: null,
  };
}

/**
 * Frees the memory of the file's small picture.
 * @param {DraftFile} piece
 */
export function release({ picture }) {
  if (picture.startsWith("blob:")) URL.revokeObjectURL(picture);
}

/**
 * Why a message with these files isn't sent.
 * @param {DraftFile[]} failed
 */
export function describeFailed(failed) {
  const names = { files: failed.map(({ name }) => name).join(", ") };
  if (failed.some(({ again }) => again))
    return say("Not uploaded: {files}. Try again, or send the message without.", names);
  return failed.length === 1
    ? say("{files} can't be sent: remove it, or send without it.", names)
    : say("{files} can't be sent: remove them, or send without them.", names);
}
