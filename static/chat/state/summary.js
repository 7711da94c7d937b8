/** What a decision does with the running summary. Pure. */

import { say } from "../words/say.js";

/**
 * @import { State } from "../types/state.js"
 * @import { Decision } from "../types/wire.js"
 */

/**
 * Whether a decision's policy sends a running summary.
 * @param {Decision} decision
 * @param {string[]} withSummary the policies that do
 */
export const usesSummary = (decision, withSummary) =>
  withSummary.includes(String(decision.settings.policy.value));

/**
 * Whether the next message is sent with the summary.
 * @param {Decision|null} decision
 */
export const sendsSummary = (decision) =>
  Boolean(decision?.layout?.some((item) => item.kind === "summary"));

/**
 * The label of the control at the horizon; "": the control is hidden.
 * @param {Pick<State, "summary"|"decision">} state
 * @param {string[]} withSummary the policies that send a running summary
 */
export function describeSummary({ summary, decision }, withSummary) {
  if (summary.compaction && sendsSummary(decision)) return say("Read");
  if (summary.version) {
    const words = say("Summary of earlier messages");
    return summary.on
      ? say("{words}, by {by}", { words, by: summary.by })
      : say("{words}, switched off", { words });
  }
  if (!decision || !usesSummary(decision, withSummary)) return "";
  return summary.on ? say("No summary yet") : say("The summary is switched off");
}
