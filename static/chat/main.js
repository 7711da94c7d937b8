/** Makes the parts of the page and joins them: state is passed down to them, actions are called back. */

import "./words/from-page.js";
import { Branches } from "./branches/branches.js";
import { continueInNewChat } from "./branches/copy.js";
import { Composer } from "./composer/composer.js";
import { Meter } from "./composer/meter.js";
import { Queue } from "./composer/queue.js";
import { announce } from "./elements/announce.js";
import { copy } from "./elements/clipboard.js";
import { byId, inThisPage, setText } from "./elements/dom.js";
import { Late } from "./elements/late.js";
import { closeNewest } from "./elements/popover.js";
import { dismissToasts, showError, toast } from "./elements/toast.js";
import { AgentPicker } from "./header/agent-picker.js";
import { HistoryChoice } from "./header/history-choice.js";
import { LinkLine } from "./header/link-line.js";
import { ModelPicker } from "./header/model-picker.js";
import { PolicyChip } from "./header/policy-chip.js";
import { TemporaryChat } from "./header/temporary-chat.js";
import { ChatTuning } from "./header/tuning.js";
import { chatAddress, namedMessage, namedReceipt, queryString } from "./net/address.js";
import { claimTab, takeReason } from "./net/drafts.js";
import { getJson, sendChange } from "./net/http.js";
import { joinDraft, takeLink } from "./net/link.js";
import { readPage } from "./net/page-data.js";
import { bringBackTurns, keepWhole, explain } from "./net/requests.js";
import { Session } from "./net/session.js";
import { PaletteBox } from "./palette/box.js";
import { announceChanges } from "./shell/announcements.js";
import { Banner } from "./shell/banner.js";
import { ChatActs } from "./shell/chat-acts.js";
import { copyChat } from "./shell/copy-chat.js";
import { commandTable } from "./shell/commands.js";
import { Frame } from "./shell/frame.js";
import { Notices } from "./shell/notices.js";
import { Shortcuts } from "./shell/shortcuts.js";
import { SharedMark } from "./share/shared-mark.js";
import { Account } from "./sidebar/account.js";
import { Sidebar } from "./sidebar/sidebar.js";
import { shorten } from "./state/format.js";
import { readCommand } from "./state/slash.js";
import { findVerdict } from "./state/state.js";
import { loadFormatter, setFormatting } from "./text/formatting.js";
import { recall } from "./transcript/compact-undo.js";
import { SecondAnswer } from "./transcript/second-answer.js";
import { Transcript } from "./transcript/transcript.js";
import { say, sayCount } from "./words/say.js";

/**
 * @import { MarkName, Quote, Role, SearchHit, Version, VersionText } from "./types/wire.js"
 * @import { State } from "./types/state.js"
 * @import { Item } from "./state/items.js"
 */

const MARKED = {
  pinned: [say("Unpinned."), say("Pinned. This exchange is sent with every message.")],
  excluded: [say("Included again."), say("Left out.")],
  bookmarked: [
    say("Bookmark removed."),
    say("Bookmarked. All bookmarks are listed beside the search."),
  ],
  in_force: [say("No longer in force."), say("In force. It is sent with every message here.")],
  no_offer: [say("Offered again."), say("Not offered again.")],
  forget_above: [
    say("Everything above is remembered again."),
    say("Everything above is forgotten."),
  ],
  unanswered: [say("Sent with your later messages."), say("No longer sent.")],
};
const page = readPage();
/** The message to be shown. @type {Pick<SearchHit, "seq"|"parts">} */
let wanted = { seq: namedMessage(), parts: [] };
claimTab(page.owner);
setFormatting(page.static);
if (page.conversation) void loadFormatter();

const link = takeLink(page.unknown_agent);
const linkLine = new LinkLine(link);
const frame = new Frame(page);
const banner = new Banner();
const meter = new Meter(page.debug_panel ? () => frame.showPanel(true) : null, compact);
const composer = new Composer(page, {
  send: (draft, confirmed) => session.send(draft, undefined, confirmed),
  queue: (draft) => queue.add(draft),
  stop: () => session.stop(),
  typed: () => {
    // It is there before the answer.
    if (composer.draft.text) void loadFormatter();
    session.requestPreview();
  },
  fits: (text) => session.fits(text),
  command: (text) => readCommand(text, keys.commands),
});
const queue = new Queue({
  send: (message) => session.send(message, message.client_id),
  fits: (text) => session.fits(text),
});
const tuning = new ChatTuning(() => session.requestPreview());
const models = new ModelPicker(
  page,
  () => {
    models.update(session.state);
    session.requestPreview();
  },
  tuning,
);
const choice = new HistoryChoice({
  send: (chosen) => session.chooseHistory(chosen),
  changed: () => session.requestPreview(),
});
const chip = new PolicyChip(choice, (menu) => transcript.keepClear(menu));
const panel = new Late(async () => {
  const { Panel } = await import("./panel/panel.js");
  return new Panel(page, {
    close: () => frame.showPanel(false),
    toMessage: (seq) => transcript.scrollToMessage(seq),
    bringBack,
    keepWhole: keep,
    endInstruction: (id) => mark(id, "in_force", false),
    draft: () => session.draftFields,
    apply: (changes) => chip.choose(changes),
  });
});
const openPanel = () => panel.use((it) => it.update(session.state));
frame.onPanelOpened.push(openPanel);
const transcript = new Transcript(
  {
    inspects: page.debug_panel,
    onlyReads: () => Boolean(session.state.room),
    receipt: (turn) => {
      frame.showPanel(true);
      if (frame.panelOpen) void panel.use((it) => it.showTurn(turn));
    },
    reuse: ({ content, attachments }) => composer.suggest(content, attachments),
    include,
    retry: (id, model, memory) => {
      const { state } = session;
      const asked = session.retry(
        id,
        model,
        memory && choice.changed(memory, state.decision?.offers?.kept ?? {}),
      );
      if (!asked)
        return void (
          state.turn && toast(say("An answer is still being written here. Stop it first."))
        );
      // Who tries the newest answer once more has the versions' menu. Who chose something else wants to see what it
      // changed, and below an older answer everything leaves the page.
      if (model || memory || id !== state.messages.at(-1)?.id) second.expect(state, id);
    },
    memories: (turn) =>
      sendChange("POST", `${page.urls.turns}/${turn}/compare`, { query: queryString() }),
    models: () => `${page.urls.models}?${new URLSearchParams({ agent: session.state.agentSlug })}`,
    edit: (id) => branches.edit(id),
    fork: (id) =>
      void continueInNewChat(`${page.urls.messages}/${id}`, ({ id: conversation, agent }) =>
        open({ conversation, agent }),
      ),
    remove: (id) => void branches.remove(id),
    continueAnswer: (id) => session.continueAnswer(id),
    show: (id) => void branches.show(id),
    compare,
    said,
    toMessage: (seq) => transcript.scrollToMessage(seq),
    reply: (item) => composer.replyTo(quoteOf(item)),
    mark,
    bringBack,
    keepWhole: keep,
    remember,
    summary: () => void summary.use((it) => it.open()),
    compact,
    recall: recallHere,
    policy: () => chip.popover.show(),
    why: (item) => {
      void why.use((it) =>
        it.open(item, Boolean(findVerdict(session.state.decision, item.seq ?? 0)?.sent)),
      );
    },
    earlier: (until) => session.loadEarlier(until).catch(showError),
    suggest: (text) => composer.suggest(text),
    sample,
    otherModel: () => models.other(),
    betterModel: () => void models.openBetter(),
  },
  page,
);
const why = new Late(async () => {
  const { WhyWindow } = await import("./message/why-window.js");
  return new WhyWindow({
    ask: (id) => explain(page, id, session.draftFields),
    inspects: page.debug_panel,
    receipt: (turn) => transcript.actions.receipt(turn),
    pin: (id) => mark(id, "pinned", true),
    summary: () => void summary.use((it) => it.open()),
    askAgain: (item) => composer.replyTo(quoteOf(item), lastAsked()),
    remember,
    takeBack: (id) => mark(id, "excluded", false),
    include,
    bringBack,
  });
});
const summary = new Late(async () => {
  const { SummaryWindow } = await import("./transcript/summary-window.js");
  return new SummaryWindow({ page, state: () => session.state });
});
const compacting = new Late(async () => {
  const { CompactWindow } = await import("./transcript/compact-window.js");
  return new CompactWindow({
    page,
    state: () => session.state,
    model: () => session.draftFields.model,
  });
});
const sideBySide = new Late(async () => {
  const { SideBySide } = await import("./transcript/side-by-side.js");
  return new SideBySide(page, { state: () => session.state, keep: (id) => void branches.show(id) });
});
const second = new SecondAnswer(compare);
const branches = new Branches(page, {
  state: () => session.state,
  edit: (id, fields) => session.edit(id, fields),
  change: (method, path, body) => session.change(method, path, body),
  place: (seq) => transcript.elementOf(seq)?.closest("article") ?? null,
  keep: (text) => composer.restore({ text, reply: null, attachments: [] }),
  hold: (seq, top) => transcript.hold(seq, top),
});
const notices = new Notices();
const me = new Account(page, {
  notices,
  restored: ({ id, agent }) => open({ conversation: id, agent }),
  listed: () => void sidebar.refresh(),
  agent: () => session.state.agentSlug,
  instructions: () =>
    void instructions.use((open) =>
      open(page.urls.own_instructions, () => session.requestPreview()),
    ),
  keys: () => void shortcutList.use((one) => one.show()),
});
const sidebar = new Sidebar(page, {
  open: ({ id, agent }) => open({ conversation: id, agent }),
  openMessage: openAt,
  onDeleted: (id) =>
    id === session.state.conversationId && open({ agent: session.state.agentSlug }),
  onCounted: (count, more) => me.showCount(count, more),
  share: (id) => void sharing.use((it) => it.open(id)),
});
const sharing = new Late(async () => {
  const { ShareWindow } = await import("./share/share-window.js");
  return new ShareWindow(page, () => void sharedMark.refresh());
});
const sharedMark = new SharedMark(page, shareThis);
const instructions = new Late(
  async () => (await import("./header/own-instructions.js")).openInstructions,
);
const agents = new AgentPicker(page, {
  choose: (slug) => open({ agent: slug }),
  edit: (slug) => void agentForm.use((form) => form.open(slug)),
});
const agentForm = new Late(async () => {
  const { AgentForm } = await import("./header/agent-form.js");
  return new AgentForm(page, {
    changed: (all) => {
      page.agents = all;
      agents.update(session.state);
      agents.refresh();
    },
    open: (slug) => open({ agent: slug }),
    closed: () => composer.focus(),
  });
});

/** @type {Session} */
const session = new Session(page, {
  onChange: show,
  onConnection: (line, reason) => banner.showConnection(line, reason),
  onRestore: (draft, costs) => {
    composer.restore(draft);
    if (costs) composer.ask(costs);
  },
  onFailed: showError,
  onEntered: () => {
    for (const id of ["compact", "summary"]) byId(id, HTMLDialogElement).close();
    composer.enter(session.state.conversationId);
    queue.enter(session.state.conversationId);
    models.enter(session.state.conversationId);
    tuning.enter(session.state.conversationId);
    choice.enter(session.state.conversationId);
  },
  draft: () => composer.draft,
  model: () => models.chosen,
  history: () => choice.chosen ?? {},
  tuning: () => tuning.sent,
});

const temporary = new TemporaryChat(page, linkLine, session, () =>
  open({ agent: session.state.agentSlug }),
);
const shortcutList = new Late(
  async () => new (await import("./shell/shortcut-list.js")).ShortcutList(keys),
);
const paletteBox = new PaletteBox();
const palette = new Late(async () => {
  const [{ Palette }, { paletteSources }] = await Promise.all([
    import("./palette/palette.js"),
    import("./palette/sources.js"),
  ]);
  return new Palette(
    paletteBox,
    paletteSources({
      page,
      open,
      openAt,
      commands: () => keys.commands.filter(({ can }) => can?.() ?? true),
      choices,
    }),
  );
});
const acts = new ChatActs(page, {
  state: () => session.state,
  type: (text) => (composer.suggest(text), slash.use((one) => one.show())),
  mark: (id) => mark(id, "forget_above", true),
});
/** What can be chosen by words. @type {import("./shell/commands.js").Choices} */
const choices = {
  memories: () =>
    (session.state.decision?.offers?.list ?? [])
      .filter(({ allowed, length }) => allowed && !length)
      .map(({ title, about, changes }) => ({
        words: title,
        more: about,
        act: () => chip.choose(changes),
      })),
  agents: () =>
    page.agents
      .filter(({ broken }) => !broken)
      .map(({ slug, name }) => ({ words: name, act: () => open({ agent: slug }) })),
  models: () =>
    models.all
      .filter((one) => !one.why_not)
      .map((one) => ({ words: one.label, act: () => models.select(one) })),
};
const prompts = new Late(async () => {
  const { Prompts } = await import("./prompts/prompts.js");
  return new Prompts(page.urls.prompts, (text) => composer.suggest(text));
});
const slash = new Late(async () => {
  const { SlashList } = await import("./composer/slash.js");
  return new SlashList(composer, {
    commands: () => keys.commands,
    prompts: () => prompts.part?.choices ?? [],
    load: () => prompts.use((one) => one.load()),
  });
});
composer.box.addEventListener("input", (event) => {
  // Not where it was pasted.
  const typed = event instanceof InputEvent && /^insert(Composition)?Text$/.test(event.inputType);
  if (typed && composer.box.value === "/") void slash.use((one) => one.show());
});
composer.box.addEventListener(
  "keydown",
  (event) => {
    // Whoever types fast means the list that is still on its way.
    if (event.key !== "Enter" || event.shiftKey || !slash.loading || slash.part) return;
    event.preventDefault();
    event.stopImmediatePropagation();
    void slash.use((one) => one.enter());
  },
  { capture: true },
);
const commands = commandTable(
  {
    newChat: () => open({ agent: session.state.agentSlug }),
    search: () => {
      frame.showSidebar(true, { focus: false });
      byId("find").focus();
    },
    focus: () => composer.focus(),
    sidebar: () => frame.toggleSide(),
    panel: () => frame.showPanel(!frame.panelOpen),
    horizon: async () => {
      if (!(await transcript.scrollToHorizon()))
        announce(say("There is no line: the model sees the whole chat."));
    },
    newest: () => transcript.scrollToNewest(),
    lastCode: () => {
      const code = [...document.querySelectorAll("#col .code code")].at(-1);
      if (code) void copy(code.textContent ?? "");
    },
    lastAnswer: () => {
      const last = session.state.messages.findLast(
        ({ role, content }) => role === "assistant" && content,
      );
      if (last) void copy(last.content ?? "");
    },
    chatMarkdown: () => copyThis("markdown"),
    chatText: () => copyThis("text"),
    share: shareThis,
    palette: () => {
      paletteBox.open();
      void palette.use((one) => one.show()).then(() => palette.part ?? paletteBox.dialog.close());
    },
    policy: () => byId("chip").click(),
    model: () => byId("model-open").click(),
    agent: () => byId("agent-open").click(),
    compact: async (text) => (await compact(text)) === true,
    forget: () => acts.forget(),
    remember: () => acts.remember(),
    title: (text = "") => acts.rename(text),
    export: () => acts.chat.type("/export "),
    prompts: () => void prompts.use((one) => one.open()),
    keepPrompt: () => void prompts.use((one) => one.open({ name: "", text: composer.draft.text })),
    list: () => void shortcutList.use((one) => one.show()),
  },
  acts,
  choices,
);
const keys = new Shortcuts(commands, escape);

byId("new").addEventListener(
  "click",
  inThisPage(() => open({ agent: session.state.agentSlug })),
);

/** @param {{conversation?: string, agent: string}} target */
function open(target) {
  frame.closeDrawer();
  if (target.conversation) void loadFormatter();
  session.open(target);
  composer.focus();
}

/**
 * Opens a conversation at one of its messages, or at its end.
 * @param {SearchHit} hit
 */
function openAt(hit) {
  const { conversation, agent } = hit;
  if (conversation !== session.state.conversationId) open({ conversation, agent });
  else frame.closeDrawer();
  wanted = hit;
  showWanted();
}

/** Opens a chat that was made to be looked at, with a question to send in it. */
async function sample() {
  const fields = { agent: session.state.agentSlug };
  const { conversation, question } = await sendChange("POST", page.urls.sample, fields);
  open({ conversation: conversation.id, agent: conversation.agent });
  composer.suggest(question);
}

/** Goes to the message that a search or the address names, as soon as the conversation is there. */
function showWanted() {
  const { seq, parts } = wanted;
  if (seq === null || !session.state.messages.length) return;
  wanted = { seq: null, parts };
  void transcript.scrollToMessage(seq, parts).then((there) => {
    if (!there) toast(say("This message isn't in the conversation as it is now."));
  });
}

/**
 * @param {string} id
 * @param {MarkName} name
 * @param {boolean} on
 */
function mark(id, name, on) {
  session.mark(id, name, on).then(() => {
    if (name === "bookmarked") void sidebar.refresh();
    announce(MARKED[name][Number(on)]);
  }, showError);
}

/**
 * Sends a message along whose answer failed; it can be taken back.
 * @param {string} id
 */
function include(id) {
  session.mark(id, "unanswered", false).then(
    () =>
      toast(MARKED.unanswered[0], {
        label: say("Undo"),
        act: () => mark(id, "unanswered", true),
        about: "unanswered",
      }),
    showError,
  );
}

/**
 * Takes turns that a cleanup unloaded back in.
 * @param {number[]|null} turns the sequence numbers of their first messages; null: all of them
 */
function bringBack(turns, conversation = session.state.conversationId) {
  dismissToasts("unloaded");
  return bringBackTurns(page, conversation, turns).then(
    ({ turns: { length } }) =>
      announce(
        length
          ? say("{turns} brought back.", {
              turns: sayCount("{count} turn", "{count} turns", length),
            })
          : say("Nothing was unloaded."),
      ),
    showError,
  );
}

/**
 * Announces a cleanup that ran because the window was full: the panel may be closed.
 * @param {State} state
 * @param {State} before
 */
function tellUnloaded(state, before) {
  if (
    !state.turn ||
    state.cacheVersion === before.cacheVersion ||
    state.conversationId !== before.conversationId
  )
    return;
  const were = new Map(before.messages.map(({ id, kv_status: status }) => [id, status]));
  const gone = state.messages.filter(
    ({ id, role, kv_status: status }) => role === "user" && status < 1 && were.get(id) === 1,
  );
  if (!gone.length) return;
  toast(
    say("The context is full: {turns} unloaded.", {
      turns: sayCount("{count} older exchange", "{count} older exchanges", gone.length),
    }),
    {
      label: say("Bring back"),
      act: () => void bringBack(gone.map(({ seq }) => seq)),
      seconds: 20,
      about: "unloaded",
    },
  );
}

/**
 * Sends results and texts of files whole again, or lets them give way.
 * @param {number[]} seqs
 * @param {boolean} on
 */
function keep(seqs, on) {
  keepWhole(page, session.state.conversationId, seqs, on).then(
    () =>
      toast(on ? say("Sent whole from now on.") : say("May give way again."), {
        label: say("Undo"),
        act: () => keep(seqs, !on),
        about: "kept",
      }),
    showError,
  );
}

/**
 * Two versions of a message side by side.
 * @param {Version[]} versions
 * @param {number} at the one that is shown
 * @param {number} other
 */
function compare(versions, at, other) {
  void sideBySide.use((it) => it.open(versions, at, other));
}

/**
 * What a version says: of a question's version the question, of an answer's the answer.
 * @param {string} version
 * @param {Role} role
 * @returns {Promise<string>}
 */
async function said(version, role) {
  /** @type {VersionText} */
  const { question, answer } = await getJson(`${page.urls.messages}/${version}/version`);
  return (role === "user" ? question : answer)?.text ?? "";
}

/**
 * @param {number} version of a compaction that is undone, or applied again
 * @param {boolean} again
 */
function recallHere(version, again) {
  void recall(`${page.urls.conversations}/${session.state.conversationId}/compact`, version, again);
}

/**
 * Shows what a summary in place of older messages would be.
 * @returns {Promise<unknown>} true once the window shows it
 */
async function compact(keep = "") {
  if (session.state.conversation) return compacting.use((it) => it.open(keep));
  toast(say("There is nothing to compact yet."));
}

/** @param {import("./shell/copy-chat.js").Form} form */
function copyThis(form) {
  const { conversation, conversationId: id } = session.state;
  if (conversation) void copyChat(`${page.urls.conversations}/${id}`, form);
  else toast(say("There is nothing to copy yet."));
}

function shareThis() {
  const { conversation, conversationId: id } = session.state;
  if (conversation) void sharing.use((it) => it.open(id));
  else toast(say("There is nothing to share yet."));
}

/** Removes the mark that forgets what is above it. */
function remember() {
  const { messages, forgetAbove } = session.state;
  const below = messages.find(({ seq }) => seq === forgetAbove);
  if (below) mark(below.id, "forget_above", false);
  else acts.remember();
}

/**
 * A stored message as a reply quotes it.
 * @param {Item} item
 * @returns {Quote}
 */
const quoteOf = ({ id, seq, role, content }) => ({
  id: /** @type {string} */ (id),
  seq: /** @type {number} */ (seq),
  role,
  text: shorten(content, 200),
});

/** The person's last message, to be asked again where nothing else is typed. */
const lastAsked = () =>
  session.state.messages.findLast(({ role, source }) => role === "user" && source === "web")
    ?.content ?? "";

/** Esc closes what is over the chat; then it gives up a question or a reply; then it stops the answer. */
function escape() {
  if (closeNewest() || frame.closeTop() || composer.cancel()) return;
  session.stop();
}

/**
 * @param {State} state
 * @param {State} before
 */
function show(state, before) {
  transcript.update(state, before);
  branches.update(state, before);
  second.update(state);
  if (wanted !== null) showWanted();
  // A delta changes only the text that is being written.
  if (state.turn?.lengths !== before.turn?.lengths && state.messages === before.messages) return;
  showRoom(state);
  composer.update(state);
  queue.update(state, before);
  choice.update(state);
  chip.update(state.decision);
  linkLine.update(state);
  temporary.update(state);
  if (before.conversation?.temporary && !state.conversation?.temporary) void sidebar.refresh();
  meter.update(state, Boolean(state.messages.length || composer.draft.text));
  panel.part?.update(state);
  agents.update(state);
  models.update(state);
  tuning.update(state);
  sidebar.update(state, before);
  sharedMark.update(state);
  banner.update(state);
  announceChanges(state, before);
  tellUnloaded(state, before);
  summary.part?.update();
  notices.update(state, before);
  title(state);
  if (state.refusal && state.refusal !== before.refusal) composer.showNotice(state.refusal.message);
  else if (state.problem !== before.problem && state.problem?.code !== "too_long")
    composer.showNotice(state.problem?.message ?? "", { quiet: true });
}

/**
 * A room is written in Talk: here it is read, and nothing is changed.
 * @param {State} state
 */
function showRoom({ room }) {
  document.body.classList.toggle("reading", Boolean(room));
  byId("composer").hidden = Boolean(room);
  byId("room-note").hidden = !room;
  setText(
    byId("room-note"),
    room &&
      say("This is the Talk room “{room}”. It is written there; here you can read it.", { room }),
  );
}

/** @param {State} state */
function title(state) {
  // The browser keeps the titles of pages.
  const words = session.temporary
    ? say("Temporary chat")
    : state.conversation?.title || say("New chat");
  document.title = notices.mark(say("{words} · Chatsite", { words }));
  setText(byId("title"), words);
  byId("title").classList.toggle("hidden", !state.conversation);
  byId("new", HTMLAnchorElement).href = chatAddress(page, { agent: state.agentSlug });
}

addEventListener("hashchange", () => {
  wanted = { seq: namedMessage(), parts: [] };
  showWanted();
});
void session.start();
if (frame.panelOpen) void openPanel();
const told = namedReceipt();
if (told) transcript.actions.receipt(told);
show(session.state, session.state);
if (link.text) composer.suggest(joinDraft(composer.draft.text, link.text));
if (link.model)
  void models.ask(link.model).then((refused) => {
    if (refused) linkLine.add(refused);
    linkLine.update(session.state);
  });
void sidebar.refresh();
const reason = takeReason();
if (reason && page.user.signed_in)
  toast(say("{reason} You are still signed in here.", { reason }), { seconds: 20 });
if (!matchMedia("(hover: none)").matches) composer.focus();
