/** The JSON side of the server: every failure is an Error with a sentence for a person. */

import { say } from "../words/say.js";

/** The token that every changing request must carry. */
export function csrfToken() {
  const begin = `${document.documentElement.dataset.csrfCookie}=`;
  return (
    document.cookie
      .split("; ")
      .find((one) => one.startsWith(begin))
      ?.slice(begin.length) ?? ""
  );
}

/**
 * @param {string} path
 * @param {RequestInit} options
 * @returns {Promise<any>} the answer's JSON; its caller names the type
 */
async function request(path, options) {
  const { status, text } = await send(path, options);
  return parseAnswer(status, text, say("Nothing was changed."));
}

/**
 * @param {string} path
 * @param {RequestInit} [options]
 * @returns {Promise<{status: number, text: string}>}
 */
async function send(path, options) {
  try {
    const response = await fetch(path, { credentials: "same-origin", ...options });
    return { status: response.status, text: await response.text() };
  } catch {
    throw new Error(
      say("The server can't be reached. Nothing was changed; try again in a moment."),
    );
  }
}

/**
 * An answer that is no JSON, as it is.
 * @param {string} path
 * @returns {Promise<string>}
 */
export async function getText(path) {
  const { status, text } = await send(path);
  if (status !== 200) parseAnswer(status, text, say("Nothing was copied."));
  return text;
}

/**
 * The JSON of an answer; throws an Error with a sentence for a person.
 * @param {number} status
 * @param {string} text
 * @param {string} fallback a sentence on what was kept, for an answer without one
 */
export function parseAnswer(status, text, fallback) {
  let body = null;
  try {
    body = text ? JSON.parse(text) : null;
  } catch {
    // An error page: its text is not for this place.
  }
  if (status >= 200 && status < 300) return body;
  const message =
    body?.message ?? say("The server answered {status}. {fallback}", { status, fallback });
  // Of a template: where in it something is wrong.
  throw Object.assign(new Error(message), { place: body?.place });
}

/**
 * @param {string} path
 * @param {AbortSignal} [signal] of somebody who no longer waits: it fails then, too
 * @returns {Promise<any>} the answer's JSON; its caller names the type
 */
export const getJson = (path, signal) =>
  request(path, { headers: { Accept: "application/json" }, signal });

/**
 * @param {"POST"|"PUT"|"PATCH"|"DELETE"} method
 * @param {string} path
 * @param {unknown} [body] sent as JSON; a form or a file is sent as it is
 * @returns {Promise<any>} the answer's JSON; its caller names the type
 */
export function sendChange(method, path, body) {
  const headers = { Accept: "application/json", "X-CSRFToken": csrfToken() };
  if (body === undefined || body instanceof FormData || body instanceof Blob)
    return request(path, { method, headers, body });
  return request(path, {
    method,
    headers: { ...headers, "Content-Type": "application/json" },
    body: JSON.stringify(body),
  });
}

/**
 * Posts a form, for answers that are a page.
 * @param {string} path
 */
export function submitForm(path) {
  const form = document.createElement("form");
  form.method = "post";
  form.action = path;
  const token = document.createElement("input");
  token.type = "hidden";
  token.name = "csrfmiddlewaretoken";
  token.value = csrfToken();
  form.append(token);
  document.body.append(form);
  form.submit();
}
