/** Toasts: sentences that disappear by themselves. */

import { byId, h, textButton } from "./dom.js";

/**
 * Shows a sentence for some seconds, with one action.
 * @param {string} text
 * @param {{label?: string, act?: () => void, seconds?: number, about?: string}} [options] `about`: replaces
 *   an older toast about the same subject
 */
export function toast(text, { label = "", act, seconds = act ? 12 : 8, about = "" } = {}) {
  dismissToasts(about);
  const element = h("div", { class: "toast", "data-about": about }, h("span", {}, text));
  if (act) {
    const press = () => {
      const held = element.contains(document.activeElement);
      element.remove();
      // Its button is gone: what somebody does next begins at the message box.
      if (held) byId("draft").focus();
      act();
    };
    element.append(textButton(label, press));
  }
  byId("toasts").append(element);
  // It stays while somebody is about to press the button.
  const end = () => (element.matches(":hover, :focus-within") ? wait() : element.remove());
  const wait = () => void setTimeout(end, seconds * 1000);
  wait();
}

/**
 * Removes the toasts about a subject: they no longer hold.
 * @param {string} about
 */
export function dismissToasts(about) {
  for (const element of about ? byId("toasts").querySelectorAll(`[data-about="${about}"]`) : [])
    element.remove();
}

/**
 * Shows why an action failed.
 * @param {unknown} error
 */
export const showError = (error) =>
  toast(error instanceof Error ? error.message : String(error), { seconds: 12 });
