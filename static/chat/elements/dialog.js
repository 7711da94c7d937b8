/** What a dialog holds: its title, what it says, and a foot with the buttons that close it. */

import { h, setChildren } from "./dom.js";
import { say } from "../words/say.js";

/** @import { Child } from "./dom.js" */

/**
 * @param {HTMLDialogElement} dialog
 * @param {string} title
 * @param {Child[]} children
 * @param {Child[]} [foot]
 */
export const fillDialog = (dialog, title, children, foot = [closeButton()]) =>
  setChildren(
    dialog,
    h(
      "form",
      { method: "dialog" },
      h("h2", { id: `${dialog.id}-title` }, title),
      children,
      h("div", { class: "box-foot" }, foot),
    ),
  );

export const closeButton = (look = "primary") => h("button", { class: look }, say("Close"));
