/** Where the transcript names who speaks, and where the agent's face stands: not where it is plain. Pure. */

import { say } from "../words/say.js";

/**
 * @import { ItemGroup } from "./items.js"
 * @import { State } from "../types/state.js"
 * @import { Agent } from "../types/wire.js"
 */

/**
 * Names a speaker in a room, one who isn't the reader or the agent, and a model that isn't the answer's before.
 * @param {ItemGroup[]} groups
 * @param {State} state
 */
export function tellSpeakers(groups, { agent, room }) {
  const plain = [say("You"), agent?.name ?? say("Agent")];
  let model = "";
  let answered = false;
  for (const group of groups) {
    const [item] = group.items;
    const answers = item.role === "assistant";
    const other = answers && item.model !== "" && item.model !== model;
    group.named = Boolean(room) || other || !plain.includes(item.name);
    group.begins = answers && !item.background && !answered;
    answered = answers && !item.background;
    if (answers && item.model) model = item.model;
  }
}

/**
 * What stands for an agent in a small circle: its own mark, or the first letter of its name.
 * @param {Agent|null} agent
 */
export const faceOf = (agent) => agent?.mark || initialOf(agent?.name ?? "");

/** @param {string} name */
export const initialOf = (name) => (/[\p{L}\p{N}]/u.exec(name)?.[0] ?? "").toUpperCase();
