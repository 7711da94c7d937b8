/** "Use a better model": the ways from the small model to a real one. There is no field for keys: they stay on the server. */

import { copy } from "../elements/clipboard.js";
import { fillDialog } from "../elements/dialog.js";
import { byId, h, pressable, setChildren } from "../elements/dom.js";
import { icon } from "../elements/icons.js";
import { describeModel } from "../state/model-facts.js";
import { say } from "../words/say.js";

/** @import { Model, ModelOffer } from "../types/page.js" */

/** @typedef {{load: () => Promise<ModelOffer>, select: (model: Model) => void}} OfferActions */

// In ms, while models on this machine are looked for.
const PAUSE = 1_500;
// Neither is a better model.
const SMALL = ["embedded:", "echo:"];
// The list in the model menu has all of them.
const MANY = 6;

/** @type {HTMLDialogElement|null} */
let dialog = null;

/** @param {OfferActions} actions */
export function openBetterModel(actions) {
  const found = h("div", { class: "better-found", role: "status" });
  dialog?.remove();
  dialog = h("dialog", {
    class: "box better-box",
    id: "better",
    "aria-labelledby": "better-title",
  });
  fillDialog(dialog, say("Use a better model"), [
    h(
      "p",
      { class: "quiet" },
      say("The small model is a demonstration. These are the three ways to a real one."),
    ),
    ways(found),
  ]);
  document.body.append(dialog);
  dialog.showModal();
  void look(dialog, found, actions);
}

/**
 * The server was started again with a real model while the window was open: it says so instead of how to get there.
 * @param {string} model
 * @returns {boolean} whether the window was open
 */
export function sayBetterModelAnswers(model) {
  if (!dialog?.open) return false;
  fillDialog(dialog, say("{model} answers now", { model }), [
    h(
      "p",
      { role: "status" },
      say(
        "Your next message goes to it. “Try again” under an answer asks it the same question, and keeps the answer that is there.",
      ),
    ),
  ]);
  const title = byId("better-title");
  title.tabIndex = -1;
  title.focus();
  dialog.addEventListener("close", () => byId("draft").focus(), { once: true });
  return true;
}

/** @param {HTMLElement} found */
function ways(found) {
  return h(
    "ol",
    { class: "better-ways" },
    way(say("A model server on this machine"), found),
    way(
      say("A provider's key"),
      h(
        "p",
        {},
        say(
          "Stop the server (Ctrl+C in its terminal) and start it again there with your key in place of sk-…. Keys are never typed into this page. The provider bills what you use.",
        ),
      ),
      command("OPENAI_API_KEY=sk-… make run"),
      h(
        "p",
        { class: "quiet" },
        say(
          "Or ANTHROPIC_API_KEY, GEMINI_API_KEY, GROQ_API_KEY and others. The line OPENAI_API_KEY=sk-… in the file .env beside README.md keeps the key for every start. If somebody else runs this server, ask them.",
        ),
      ),
    ),
    way(
      say("A model file"),
      h(
        "p",
        {},
        say("A GGUF file runs inside Chatsite, without another server and without a key."),
      ),
      command("CHAT_MODEL_PATH=/models/qwen3-4b.gguf make run"),
    ),
  );
}

/**
 * @param {string} title
 * @param {...HTMLElement} children
 */
const way = (title, ...children) => h("li", {}, h("h3", {}, title), children);

/** @param {string} text */
function command(text) {
  const button = pressable({ class: "plain-button" }, () => copy(text, button), say("Copy"));
  return h("div", { class: "better-command" }, h("code", { tabindex: "0" }, text), button);
}

/**
 * Asks what can be chosen until the search on this machine is over or the window is closed.
 * @param {HTMLDialogElement} window
 * @param {HTMLElement} box
 * @param {OfferActions} actions
 */
async function look(window, box, actions) {
  setChildren(box, h("p", { class: "quiet" }, say("Looking for models on this machine…")));
  try {
    const offer = await actions.load();
    if (!window.open) return;
    setChildren(
      box,
      describeOffer(offer, (model) => (window.close(), actions.select(model))),
    );
    if (offer.looking) setTimeout(() => window.open && void look(window, box, actions), PAUSE);
  } catch (error) {
    setChildren(box, h("p", {}, /** @type {Error} */ (error).message));
  }
}

/**
 * @param {ModelOffer} offer
 * @param {(model: Model) => void} select
 */
function describeOffer({ locked, groups, looking }, select) {
  if (locked) return [h("p", { class: "better-locked" }, icon("lock", 14), h("span", {}, locked))];
  const all = groups.flatMap(({ models }) => models);
  const usable = all.filter(
    ({ name, why_not: barred }) => !barred && !SMALL.some((start) => name.startsWith(start)),
  );
  if (!usable.length) {
    return [
      h(
        "p",
        {},
        looking
          ? say("Looking for models on this machine…")
          : say(
              "None was found. Start Ollama, LM Studio or llama-server here: its models are listed within 30 seconds.",
            ),
      ),
    ];
  }
  return [
    h("p", {}, say("Found. One click, and the next answer comes from it:")),
    h(
      "ul",
      { class: "better-models" },
      usable.slice(0, MANY).map((model) =>
        h(
          "li",
          {},
          pressable(
            { class: "plain-button" },
            () => select(model),
            say("Use {model}", { model: model.label }),
          ),
          h("span", { class: "quiet" }, describeModel(model)),
        ),
      ),
    ),
    usable.length > MANY &&
      h(
        "p",
        { class: "quiet" },
        say("The menu with the model's name lists all {count}.", { count: usable.length }),
      ),
  ].filter((one) => one instanceof HTMLElement);
}
