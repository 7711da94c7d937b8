import { byId, h } from "./dom.js";

/**
 * A sentence that goes away by itself, with one thing that can be done about it.
 * @param {string} text
 * @param {{label?: string, act?: () => void, seconds?: number, about?: string}} [options] `about`: what
 *   was said of the same before goes
 */
export function toast(text, { label = "", act, seconds = 8, about = "" } = {}) {
  withdraw(about);
  const button = act
    ? h("button", { type: "button", class: "link", on: { click: () => (element.remove(), act()) } }, label)
    : null;
  const element = h("div", { class: "toast", "data-about": about }, h("span", {}, text), button);
  byId("toasts").append(element);
  let timer = 0;
  const start = () => (timer = window.setTimeout(() => element.remove(), seconds * 1000));
  // Who is about to press the button keeps it.
  for (const event of ["pointerenter", "focusin"]) element.addEventListener(event, () => clearTimeout(timer));
  for (const event of ["pointerleave", "focusout"]) element.addEventListener(event, start);
  start();
}

/** What was said about this doesn't hold any more. */
export function withdraw(about) {
  for (const element of about ? byId("toasts").querySelectorAll(`[data-about="${about}"]`) : []) element.remove();
}

/** Says what an action failed of. */
export const complain = (error) => toast(error instanceof Error ? error.message : String(error), { seconds: 12 });
