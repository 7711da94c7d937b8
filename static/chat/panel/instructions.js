/** The section of the panel with the instructions that are sent with every request. */

import { h, textButton } from "../elements/dom.js";
import { formatNumber } from "../state/format.js";
import { say } from "../words/say.js";

/** @import { Decision, Message } from "../types/wire.js" */
/** @import { Section } from "./panel.js" */

/**
 * Null where none is. One whose message isn't loaded is named by its number alone.
 * @param {Decision} decision
 * @param {Message[]} messages those that are loaded
 * @param {{next: boolean, toMessage: (seq: number) => void, end: (id: string) => void}} view
 *   `next`: it is the next request, in which one can be ended
 * @returns {Section|null}
 */
export function instructionsSection(decision, messages, { next, toMessage, end }) {
  const item = decision.layout?.find(({ kind }) => kind === "instructions");
  if (!item) return null;
  const kept = (item.sources ?? []).map((seq) => {
    const { id = "", in_force: said = "" } = messages.find((one) => one.seq === seq) ?? {};
    return { seq, id, said };
  });
  /** @param {typeof kept[number]} one */
  const line = ({ seq, id, said }) =>
    h(
      "p",
      { class: "quiet standing" },
      said && `“${said.replaceAll("\n", " ")}” · `,
      textButton(say("message {number}", { number: formatNumber(seq) }), () => toMessage(seq)),
      next && said && [" · ", textButton(say("End it"), () => end(id))],
    );
  return {
    data: [kept, next],
    draw: () => [h("h3", {}, say("Instructions in force")), ...kept.map(line)],
  };
}
