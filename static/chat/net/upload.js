/** Uploads one file and reports the progress. */

import { FILES } from "./address.js";
import { csrfToken, parseAnswer } from "./http.js";
import { say } from "../words/say.js";

/** @import { Attachment } from "../types/wire.js" */

const UNREACHED = say(
  "The server can't be reached. The file is still here; try again in a moment.",
);
// Statuses that blame the file itself: trying again is no use.
const FINAL = [400, 413, 415];

/**
 * @param {File} file
 * @param {string} temporary the temporary chat that the file is erased with; "": it is kept
 * @param {{progress: (percent: number) => void, there: (attachment: Attachment) => void,
 *   failed: (sentence: string, again: boolean) => void}} listeners one of `there` and `failed` is called, once,
 *   unless the upload is cancelled; `again`: another attempt may help
 * @returns {{cancel: () => void}}
 */
export function upload(file, temporary, { progress, there, failed }) {
  const request = new XMLHttpRequest();
  request.open("POST", FILES);
  request.setRequestHeader("Accept", "application/json");
  request.setRequestHeader("X-CSRFToken", csrfToken());
  request.setRequestHeader(
    "X-File-Name",
    encodeURIComponent(file.name.toWellFormed?.() ?? file.name),
  );
  request.setRequestHeader("Content-Type", "application/octet-stream");
  if (temporary) request.setRequestHeader("X-Temporary-Chat", temporary);
  // fetch doesn't report how much of a body was sent.
  request.upload.addEventListener("progress", ({ loaded, total }) =>
    progress(total ? (100 * loaded) / total : 0),
  );
  request.addEventListener("error", () => failed(UNREACHED, true));
  request.addEventListener("load", () => {
    try {
      there(
        parseAnswer(request.status, request.responseText, say("The file is still here; try again."))
          .attachment,
      );
    } catch (error) {
      failed(/** @type {Error} */ (error).message, !FINAL.includes(request.status));
    }
  });
  request.send(file);
  return { cancel: () => request.abort() };
}

/**
 * Whether the server still has a file; true where that is unknown.
 * @param {string} address
 */
export async function isThere(address) {
  try {
    return (await fetch(address, { method: "HEAD", credentials: "same-origin" })).status !== 404;
  } catch {
    return true;
  }
}
