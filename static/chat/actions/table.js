/** What can be done with a message: one line for each action. The row under a message and its menu both read it. */

import { copy } from "../elements/clipboard.js";
import { say } from "../words/say.js";

/**
 * @import { IconName } from "../elements/icons.js"
 * @import { Item, ItemGroup } from "../state/items.js"
 * @import { ComparisonAnswer } from "../types/page.js"
 * @import { ChoiceChanges, MarkName, Role, Verdict, Version } from "../types/wire.js"
 */

/**
 * What the page does for an action. `receipt` needs `inspects`; `models` is the address of those that may answer,
 * `memories` the turn under every policy; `compare` opens two versions side by side; `said`
 * is the text of a version; `onlyReads`: nothing can be changed here.
 * @typedef {{inspects: boolean, onlyReads: () => boolean, receipt: (turn: string) => void, show: (id: string) => void,
 *   compare: (versions: Version[], at: number, other: number) => void, said: (version: string, role: Role) => Promise<string>,
 *   retry: (id: string, model?: string, memory?: ChoiceChanges) => void, models: () => string,
 *   memories: (turn: string) => Promise<ComparisonAnswer>, reply: (item: Item) => void, why: (item: Item) => void,
 *   mark: (id: string, mark: MarkName, on: boolean) => void, bringBack: (turns: number[]) => void,
 *   keepWhole: (seqs: number[], on: boolean) => void,
 *   edit: (id: string) => void, fork: (id: string) => void, remove: (id: string) => void}} Doing
 */

/**
 * The message that an action is for, and its group; `again`: the question can be asked again.
 * @typedef {{item: Item, group: ItemGroup, verdict: Verdict|null, again: boolean}} About
 */

/**
 * `drawing`: it stands in the row with this icon, and where `words` says so also its name, if there is room; without
 * a drawing it stands in the menu. `confirms`: `act` answers whether it worked, which the button shows for a moment.
 * `reads`: it changes nothing, and is offered also where a room is only read.
 * @typedef {{name: string, reads?: boolean, label: (about: About) => string, drawing?: (about: About) => IconName|null,
 *   words?: (about: About) => boolean, confirms?: boolean, offered: (about: About, doing: Doing) => boolean,
 *   act: (about: About, doing: Doing) => unknown}} Action
 */

/** @param {About} about */
const isMine = ({ item }) => item.role === "user" && !item.background;

/**
 * A greeting is never sent, whatever is marked on it.
 * @param {About} about
 */
const isSaid = ({ item }) => item.id !== null && !item.greets;

/**
 * What was never answered wasn't forgotten.
 * @param {About} about
 */
const isFailure = ({ item, verdict }) =>
  verdict?.reason === "unanswered" || Boolean(item.problem) || item.failed;

/** @param {Item} item */
const idOf = ({ id }) => /** @type {string} */ (id);

/** @param {ItemGroup} group */
export const textOf = ({ items }) =>
  items
    .map(({ content }) => content)
    .filter(Boolean)
    .join("\n\n");

/**
 * What isn't sent anyway can be kept from ever being sent again.
 * @param {About} about
 */
function leaveOut({ item, verdict }) {
  if (item.excluded) return say("Send again");
  if (item.calls.length) return say("Don't send this exchange");
  return verdict && !verdict.sent ? say("Never send") : say("Don't send");
}

/** @type {Action[]} in the order of the row, and of the menu */
export const ACTIONS = [
  {
    name: "copy",
    reads: true,
    label: () => say("Copy"),
    drawing: () => "copy",
    confirms: true,
    offered: ({ group }) => Boolean(textOf(group)),
    act: ({ group }) => copy(textOf(group)),
  },
  {
    // An answer is edited more rarely than it is asked for again. A tool call goes with its answer.
    name: "edit",
    label: () => say("Edit"),
    drawing: (about) => (isMine(about) ? "pencil" : null),
    offered: (about) => isSaid(about) && !about.item.background && !about.item.calls.length,
    act: ({ item }, { edit }) => edit(idOf(item)),
  },
  {
    name: "again",
    label: () => say("Try again"),
    drawing: () => "again",
    words: ({ group }) => group.last,
    offered: ({ again }) => again,
    act: ({ item }, { retry }) => retry(idOf(item)),
  },
  {
    name: "saw",
    reads: true,
    label: () => say("What the model saw"),
    drawing: () => "eye",
    words: () => true,
    offered: ({ item }, { inspects }) => inspects && item.turn !== null,
    act: ({ item }, { receipt }) => receipt(/** @type {string} */ (item.turn)),
  },
  {
    // A message that only calls tools has nothing to quote.
    name: "reply",
    label: () => say("Reply"),
    offered: (about) =>
      isSaid(about) && Boolean(about.item.content || about.item.attachments.length),
    act: ({ item }, { reply }) => reply(item),
  },
  {
    name: "back",
    label: () => say("Bring this exchange back"),
    offered: (about) => isSaid(about) && about.item.unloaded,
    act: ({ item }, { bringBack }) => bringBack([item.start]),
  },
  {
    name: "pin",
    label: ({ item }) => (item.pinned ? say("Unpin") : say("Pin: always send")),
    offered: isSaid,
    act: ({ item }, { mark }) => mark(idOf(item), "pinned", !item.pinned),
  },
  {
    // An answer can be left out alone; a tool call only together with the answer that rests on it.
    name: "leave",
    label: leaveOut,
    offered: isSaid,
    act: ({ item }, { mark }) => mark(idOf(item), "excluded", !item.excluded),
  },
  {
    // A result has this beside its text.
    name: "whole",
    label: ({ item }) => (item.kept ? say("Let its files give way") : say("Always send its files")),
    offered: (about) => isMine(about) && about.item.attachments.some((one) => one.characters > 0),
    act: ({ item }, { keepWhole }) => keepWhole([Number(item.seq)], !item.kept),
  },
  {
    name: "forget",
    label: ({ item }) => (item.forgets ? say("Remember again") : say("Forget everything above")),
    offered: (about) => isSaid(about) && (about.item.forgets || !about.item.first),
    act: ({ item }, { mark }) => mark(idOf(item), "forget_above", !item.forgets),
  },
  {
    // Beside a message that isn't sent, where somebody asks for it; otherwise in the menu.
    name: "why",
    reads: true,
    label: (about) =>
      about.verdict?.sent
        ? say("Why is this sent?")
        : isFailure(about)
          ? say("Why isn't this sent?")
          : say("Why did it forget?"),
    // The menu has a part for each tool call, the row has one for all of them.
    drawing: (about) =>
      about.verdict && !about.verdict.sent && !about.item.calls.length && !isFailure(about)
        ? "slash"
        : null,
    words: () => true,
    offered: isSaid,
    act: ({ item }, { why }) => why(item),
  },
  {
    name: "bookmark",
    label: ({ item }) => (item.bookmarked ? say("Remove the bookmark") : say("Bookmark")),
    offered: isSaid,
    act: ({ item }, { mark }) => mark(idOf(item), "bookmarked", !item.bookmarked),
  },
  {
    name: "fork",
    label: () => say("Continue in a new chat"),
    offered: isSaid,
    act: ({ item }, { fork }) => fork(idOf(item)),
  },
  {
    name: "delete",
    label: () => say("Delete"),
    offered: (about) => isSaid(about) && !about.item.calls.length,
    act: ({ item }, { remove }) => remove(idOf(item)),
  },
];

/**
 * @param {About} about
 * @param {Doing} doing
 */
const offered = (about, doing) =>
  ACTIONS.filter((one) => (one.reads || !doing.onlyReads()) && one.offered(about, doing));

/**
 * @param {About} about
 * @param {Doing} doing
 */
export const rowActions = (about, doing) =>
  offered(about, doing).filter((one) => one.drawing?.(about));

/**
 * @param {About} about
 * @param {Doing} doing
 */
export const menuActions = (about, doing) =>
  offered(about, doing).filter((one) => !one.drawing?.(about));
