/**
 * A drawing of the line at work, for a chat that hasn't begun: the line moves as another memory is chosen, and what is
 * above the line grows quieter. Without motion it shows the first memory.
 */

import { h } from "../elements/dom.js";
import { say } from "../words/say.js";

// How wide each message is drawn, and which it is.
const MESSAGES = [
  ["asked", 34],
  ["answered", 62],
  ["asked", 46],
  ["answered", 74],
  ["asked", 28],
  ["answered", 55],
];

/** @param {HTMLElement|false} button leads to a chat with a line; false where nobody can move it */
export function lineDrawing(button) {
  const memories = [say("Your last exchange"), say("Your last 2 exchanges"), say("Everything")];
  const about = say(
    "A drawing of six messages and a dashed line. With another memory the line moves. The model sees what is below it.",
  );
  const messages = MESSAGES.map(([whose, width], index) => {
    const message = h("i", { class: `drawing-message ${whose} pair-${Math.floor(index / 2)}` });
    message.style.width = `${width}%`;
    return message;
  });
  const labels = memories.map((words, index) =>
    h("span", { class: `drawing-memory at-${index}`, "aria-hidden": "true" }, words),
  );
  const words = button
    ? say("The model sees what is below the line. Move it whenever you like.")
    : say("The model sees what is below the line.");
  const chat = { class: "drawing-chat", role: "img", "aria-label": about };
  return h(
    "div",
    { class: "drawing" },
    h("div", chat, messages, h("i", { class: "drawing-line" })),
    h(
      "div",
      { class: "drawing-memories" },
      labels,
      h("p", { class: "drawing-words" }, words),
      button,
    ),
  );
}
