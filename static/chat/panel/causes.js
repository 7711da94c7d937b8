/** Why a request wasn't read from the cache, in a sentence. */

import { formatNumber } from "../state/format.js";
import { say, sayCount } from "../words/say.js";
import { describePlace } from "./verdicts.js";

/** @import { CauseValues, Since } from "../types/wire.js" */

/** @param {number} seconds */
const minutes = (seconds) =>
  sayCount("{count} minute", "{count} minutes", Math.max(1, Math.round(seconds / 60)));

/** @type {Record<string, string>} by mark, as it was set and as it was taken away */
const MARKS = {
  pinned: say("{place} came in by a pin"),
  "-pinned": say("the pin was taken off {place}"),
  excluded: say("you left {place} out"),
  "-excluded": say("{place} may be sent again"),
  above_marker: say("you asked to forget {place}"),
  "-above_marker": say("{place} isn't forgotten any more"),
  replied_to: say("your message replies to {place}"),
  "-replied_to": say("only the message before replied to {place}"),
};
/** @type {Record<string, string>} by how the message differs */
const EDITS = {
  edited: say("the text of {place} was changed"),
  went: say("{place} was deleted, or another version is shown"),
  came: say("{place} came back, or another version is shown"),
};
// Nothing of the request caused these.
export const ELSEWHERE = ["expired", "server", "slot", "provider"];

/** @type {Record<string, (values: CauseValues) => string>} */
const WHY = {
  model: () => say("another model answered"),
  tools: () => say("the agent's tools changed"),
  instructions: () => say("the agent's instructions changed"),
  settings: ({ names = [] }) =>
    say("the settings of the history changed ({names})", { names: names.join(", ") }),
  cut: ({ came }) =>
    came
      ? say("the policy moved its cut back, and {place} came in")
      : say("the policy moved its cut, and {place} went"),
  mark: ({ mark = "", on }) =>
    MARKS[on ? mark : `-${mark}`] ?? say("what is kept in force changed"),
  edited: ({ how = "" }) => EDITS[how] ?? say("the answer was continued"),
  gave_way: ({ came }) =>
    came ? say("{place} is sent whole again") : say("{place} gave way to newer messages"),
  summary: () => say("the running summary changed"),
  recalled: () => say("other quotes stand among the older messages"),
  lines: () => say("another date, or another count of what isn't shown, stands there"),
  own_code: () => say("the agent's strategy chose otherwise"),
  chosen: ({ came }) =>
    came ? say("{place} was chosen for this message") : say("{place} was no longer chosen"),
  cleanup: ({ on }) => (on ? say("a cleanup unloaded {place}") : say("{place} was brought back")),
  server: () => say("another server answered, which has a cache of its own"),
  slot: () => say("the model's cache held something else meanwhile"),
  expired: ({ seconds = 0, least = 0, longest = 0 }) =>
    say("the request before was {ago} ago, and the provider keeps it for {kept}", {
      ago: minutes(seconds),
      kept: least === longest ? minutes(least) : `${Math.round(least / 60)}–${minutes(longest)}`,
    }),
  provider: () => say("it is unchanged, so the cause is the provider's"),
};

/** @type {Record<string, string>} by the provider's code, where that says something */
const TOLD = {
  model_changed: say("another model was asked"),
  system_changed: say("the instructions changed"),
  tools_changed: say("the tools changed"),
  messages_changed: say("earlier messages changed"),
  previous_message_not_found: say("it no longer knows the request before"),
};

/** @param {string|undefined} miss */
export const describeTold = (miss = "") =>
  TOLD[miss] && say("The provider says: {why}.", { why: TOLD[miss] });

/** @param {Since} since */
export function describeCause({ cause, values, segments, reported }) {
  if (cause === "unreadable")
    return say(
      "What changed isn't known: the request before isn't stored any more, or by an older version.",
    );
  if (cause === "too_small")
    return say("Too short for a cache: the provider keeps beginnings from {least} tokens on.", {
      least: formatNumber(values.least ?? 0),
    });
  if (!cause)
    return reported === null
      ? say("The whole request before is the beginning of this one.")
      : say("All that could come from the cache came from it.");
  const { seq: first = 0, last = 0, after = 0 } = values;
  const place = sayCount("message {place}", "messages {place}", last > first ? 2 : 1, {
    place: describePlace({ first, last: Math.max(first, last) }),
  });
  const why = (WHY[cause]?.(values) ?? cause).replace("{place}", place);
  const begun = segments.some(({ change, tokens }) => change === "stayed" && tokens > 0);
  if (!begun || ELSEWHERE.includes(cause))
    return say("The beginning was read anew: {why}.", { why });
  return after
    ? say("Everything after message {after} was read anew: {why}.", { after, why })
    : say("Everything after the instructions was read anew: {why}.", { why });
}
