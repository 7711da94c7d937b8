/** The exact request of an answered turn, loaded when it is opened. */

import { h, setChildren } from "../elements/dom.js";
import { getJson } from "../net/http.js";
import { say } from "../words/say.js";

/**
 * @import { ExactRequest, Page, RequestMessage } from "../types/page.js"
 * @import { Section } from "./panel.js"
 */

/**
 * @param {Page} page
 * @param {string} turn
 * @returns {Section}
 */
export function requestSection(page, turn) {
  return {
    data: [turn],
    draw: () => {
      const box = h("div", { class: "request" }, h("p", { class: "quiet" }, say("Loading…")));
      const details = h(
        "details",
        { class: "request-open", "data-key": `request:${turn}` },
        h("summary", {}, say("The exact request")),
        box,
      );
      let loaded = false;
      details.addEventListener("toggle", async () => {
        if (!details.open || loaded) return;
        loaded = true;
        try {
          setChildren(box, contents(await getJson(`${page.urls.turns}/${turn}/request`)));
        } catch (error) {
          loaded = false;
          setChildren(box, h("p", { class: "quiet" }, /** @type {Error} */ (error).message));
        }
      });
      return [details];
    },
  };
}

/** @param {ExactRequest} request */
function contents({ asked, messages, complete, note }) {
  const parameters = Object.entries(asked).map(
    ([name, value]) => `${name}: ${JSON.stringify(value)}`,
  );
  return [
    parameters.length > 0 && h("p", { class: "quiet" }, parameters.join(" · ")),
    !complete && h("p", { class: "quiet" }, note || say("Parts of it are no longer stored.")),
    complete && note && h("p", { class: "quiet" }, note),
    h(
      "ol",
      {},
      messages.map(({ role, content, tool_calls: calls, tool_call_id: id }) =>
        h(
          "li",
          {},
          h("b", {}, role),
          id && h("span", { class: "quiet" }, ` ${id}`),
          (content || !calls) && h("pre", { tabindex: "0" }, content ?? ""),
          calls && h("pre", { tabindex: "0" }, calls.map(callLine).join("\n")),
        ),
      ),
    ),
  ];
}

/**
 * "calculator({…}), as call_1": the arguments are JSON as the model wrote them.
 * @param {NonNullable<RequestMessage["tool_calls"]>[number]} call
 */
const callLine = ({ id, function: { name, arguments: given } }) => `${name}(${given}), ${id}`;
