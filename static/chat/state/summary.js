/** What a decision does with the running summary. Pure. */

import { plural } from "./format.js";

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
  if (summary.version) {
    const words = `Summary of ${plural(summary.messages, "message")}`;
    return summary.on ? `${words}, by ${summary.by}` : `${words}, switched off`;
  }
  if (!decision || !usesSummary(decision, withSummary)) return "";
  return summary.on ? "No summary yet" : "The summary is switched off";
}
