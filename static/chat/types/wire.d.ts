/** What the server sends: events, replies, and the records in them. `chatsite/events.py` is their source. */

/** A title or a message where a search found its words. */
export interface SearchHit {
    conversation: string;
    title: string;
    agent: string;
    /** Of a title: the conversation's last change. */
    at: string;
    /** Pieces of the text, and whether each was looked for. */
    parts: [string, boolean][];
    /** null: a title */
    seq: number | null;
    role: Role | "";
    archived?: boolean;
}

export interface SearchPage {
    hits: SearchHit[];
    /** There are too many to weigh. */
    newest_first: boolean;
    /** Where the next page begins. */
    more: number | null;
    /** Those in force, as they were typed. */
    filters?: string[];
    /** Why something that looks like a filter is none, a sentence. */
    note?: string;
    /** Messages of an older database are still being made searchable. */
    waiting: boolean;
}

export interface Conversation {
    id: string;
    agent: string;
    title: string;
    /** ISO 8601, UTC, as every time here. */
    created: string;
    updated: string;
    /** The model chosen for the conversation, as `provider:name`; "": the agent's own. */
    model?: string;
    /** What was chosen for it of the policy and its settings, by the names of a link's parameters. */
    history?: Choice;
    /** Since when it is that in the sidebar. */
    pinned?: string | null;
    archived?: string | null;
    folder?: string | null;
    /** It is in no list, and erased when it is closed. */
    temporary?: boolean;
    /** What was chosen for it of its answers; servers of before lack it. */
    tuning?: Tuning;
}

/** What isn't there is as the agent has it. */
export interface Tuning {
    temperature?: number;
    max_tokens?: number;
}

/** Where a conversation stood before a change. */
export interface Place {
    id: string;
    pinned: string | null;
    archived: string | null;
    folder: string | null;
}

/** What stands beside the list in the sidebar; a folder is its name and how many chats it shows. */
export interface Groups {
    pinned: Conversation[];
    folders: [string, number][];
    archived: number;
}

export type Role = "system" | "user" | "assistant" | "tool";
export type WritingState = "running" | "complete" | "stopped" | "failed" | "interrupted";
/** How a number of tokens is known. */
export type Basis = "estimated" | "counted" | "reported";

export interface Problem {
    code: string;
    message: string;
    /** So long a new attempt is refused; not stored, since it would be stale later. */
    seconds?: number;
}

/** The message that another one replies to; `text` is its beginning. */
export interface Quote {
    id: string;
    seq: number;
    role: Role;
    text: string;
}

/** A tool call that a model asked for. */
export interface Call {
    id: string;
    name: string;
    arguments: Record<string, unknown>;
}

/** A file that the server has. */
export interface Attachment {
    id: string;
    name: string;
    /** In bytes. */
    size: number;
    modality: "document" | "image" | "audio" | "video";
    mime_type: string | null;
    /** In pixels; 0 where unknown. */
    width: number;
    height: number;
    /** The length of the text that can be read in the file. */
    characters: number;
    /** What could not be read of the file. */
    note?: string;
}

/** One of several messages in the same place of the tree. */
export interface Version {
    id: string;
    /** When it was written, or last changed by a person. */
    at: string;
    /** "" where it isn't known. */
    model: string;
    /** Of the answer, as reported. */
    tokens: number | null;
    /** In US dollars, of the whole turn. */
    cost: number | null;
    edited: boolean;
}

/** A question, or all that an answer says. */
export interface Said {
    id: string;
    /** null: no turn wrote it */
    turn: string | null;
    text: string;
    /** The names of those attached. */
    files: string[];
}

/** The exchange that a version of a message belongs to, as it would be shown. */
export interface VersionText {
    /** null: it was deleted, or nobody asked */
    question: Said | null;
    /** null: nothing was answered */
    answer: Said | null;
}

export interface Message {
    id: string;
    seq: number;
    role: Role;
    content: string | null;
    reasoning: string | null;
    source: string;
    /** Who wrote it where that is not the conversation's owner: somebody in a room, or a stranger by mail. */
    speaker: string;
    state: WritingState;
    created: string;
    turn: string | null;
    finish_reason: string;
    pinned: boolean;
    excluded: boolean;
    bookmarked: boolean;
    kept_whole: boolean;
    /** Its instructions that are sent with every request, a line each; `offered`: those that could be. */
    in_force?: string;
    offered?: string;
    reply: Quote | null;
    problem: Problem | null;
    calls: Call[];
    call_id: string | null;
    attachments: Attachment[];
    /** All messages in the same place of the tree, in order, where there are several. */
    versions: Version[];
    /** A person has changed its text since it was written. */
    edited: boolean;
    /** What wrote an answer; "" where that isn't known. */
    model: string;
    /** 1: in the engine's cache; 0 marked for cleanup; -1 unloaded. */
    kv_status: number;
}

/** A turn that runs, as a snapshot describes it. */
export interface TurnView {
    id: string;
    user_message: string;
    text: string;
    reasoning: string;
    calling: string[];
    waiting: string;
    /** Tokens of the prompt that were read, and all of them; both 0 where unknown. */
    reading: [number, number];
}

/** The running summary in force; version 0: there is none. */
export interface Summary {
    on: boolean;
    version: number;
    messages: number;
    by: string;
    last: number;
    /** The version that a person put in the place of older turns; 0: there is none. */
    compaction: number;
    /** The newest compaction that can be applied again; 0: there is none. */
    undone: number;
}

export interface Provider {
    kind: string;
    label: string;
    note: string;
    tools?: boolean;
    /** It shows that the page works, and is too small to give good answers. */
    demonstration?: boolean;
}

export interface Agent {
    slug: string;
    name: string;
    description: string;
    greeting: string[];
    prompts: string[];
    tags: string[];
    /** What the empty message box says; "" for the page's own words. */
    placeholder?: string;
    notes?: string[];
    version?: string;
    /** An emoji, or the name of a drawn colour; without one, the first letter of its name. */
    mark?: string;
    /** Of an agent that somebody made in the page. */
    own?: { mine: boolean; shared: boolean };
    tools?: string[];
    missing?: MissingTool[];
    /** Keys of its template without effect, and what that means. */
    unused?: { key: string; sentence: string }[];
    provider: Provider | null;
    broken: { file: string; key: string; reason: string } | null;
}

export interface MissingTool {
    name: string;
    reason: string;
}

export interface Engine {
    state: string;
    sentence: string;
    /** 0 to 1 while the model loads. */
    progress: number | null;
}

// ---- Decisions and receipts: `chatsite/history/decision/receipt.py` ----

/** One verdict on neighbouring messages, by their sequence numbers; 0 and below: the head. */
export interface Verdict {
    first: number;
    last: number;
    messages: number;
    role: string | null;
    sent: boolean;
    quoted: boolean;
    /** The message that it is quoted before; 0 where it isn't quoted. Receipts of before lack it. */
    before?: number;
    reason: string;
    sentence: string;
    tokens: number;
    basis: Basis;
    /** Firsts and lasts, where messages in between have a verdict of their own. */
    spans?: [number, number][];
}

/** The value that one source gives one setting, and whether it won. */
export interface SourceValue {
    source: string;
    name: string;
    raw: string | null;
    outcome: string;
    why: string;
}

export interface Setting {
    value: string | number | boolean | null;
    source: string;
    said: SourceValue[];
}

/** Every setting by its name; these are the ones that modules of the page read. */
export interface Settings {
    policy: Setting;
    length: Setting;
    tokens: Setting;
    /** Those of the template's object of this name that have an effect. */
    conversation?: Record<string, Setting>;
}

/** What a person chose of the policy and its settings, by the names of a link's parameters. */
export type Choice = Record<string, string>;
/** What one more choice changes of it; null takes a value out. */
export type ChoiceChanges = Record<string, string | null>;

/** One thing to choose for a page. */
export interface Offer {
    key: string;
    policy: string;
    title: string;
    about: string;
    /** False: it is behind "More…". */
    first?: boolean;
    length: boolean;
    in_force: boolean;
    allowed: boolean;
    why: string;
    changes: ChoiceChanges;
}

/** What a request would cost, in US dollars: with the cache and without; `answer` of both is for the answer. */
export interface NextPrice {
    low: number;
    high: number;
    answer: number | null;
    part: string;
}

/** What is asked before a message is sent: its price, what was spent today where that is why, and a cheaper policy. */
export interface Costs {
    price: NextPrice;
    spent: number | null;
    cheaper: { words: string; price: NextPrice; once: Choice } | null;
}

/** One part of a prompt. */
export interface Part {
    name: string;
    tokens: number;
    basis: Basis | null;
}

/** Token counts and times that a provider reported. */
export interface Reported {
    prompt?: number | null;
    cached?: number | null;
    completion?: number | null;
    cost?: number | null;
    first_token_ms?: number | null;
    /** The provider's own code for why less was in its cache. */
    miss?: string;
}

/** The newest answers, with number and sum of all, in US dollars or in tokens. `parts`: from the cache, read anew, written. */
export interface ChatCosts {
    answers: { turn: string; seq: number; parts: number[]; cached: number; missed: boolean }[];
    count: number;
    total: number;
    dollars: boolean;
}

/** One request of a turn with tools. */
export interface Round {
    round: number;
    sent_tokens: number | null;
    reported: Reported | null;
    calls: string[];
    first_token_ms: number | null;
    retried: string;
}

/** What gathering evidence reports, by name. */
export type Report = Record<string, unknown>;

export interface Facts {
    policy: string;
    length: string;
    source: string;
    /** Messages stored on the active path, and those of them that the request has. */
    stored: number;
    sent: number;
    /** Of the next message: what a person has typed so far, which isn't stored. */
    draft?: "empty" | "written";
}

/**
 * The decision of a turn as it is stored, in codes and values: what of it the chat itself reads. With sentences, as a
 * `Decision`, it is asked for when somebody looks at it.
 */
export interface Receipt {
    turn: string;
    number: number;
    /** Stored, sent, pinned and older ones; receipts of before have them as a decision does, or lack them. */
    exchanges?: [number, number, number, number] | Decision["exchanges"];
    /** Sentences on what became of each file. */
    files?: string[];
}

/** Neighbours in a request that fared alike; 0 for what isn't a stored message. */
export interface Segment {
    change: "stayed" | "moved" | "edited" | "cut" | "came" | "went";
    kind: string;
    first: number;
    last: number;
    messages: number;
    tokens: number;
}

/** What completes the sentence of a cause. */
export interface CauseValues {
    /** The last message of the same beginning. */
    after?: number;
    seq?: number;
    last?: number;
    came?: boolean;
    mark?: string;
    on?: boolean;
    how?: string;
    names?: string[];
    seconds?: number;
    least?: number;
    longest?: number;
}

/** What changed since the request before: `CacheReport` in `chatsite/history/receipts/cache_miss.py`. */
export interface Since {
    cause: string;
    values: CauseValues;
    segments: Segment[];
    available: number;
    predicted: number;
    reported: number | null;
    premium: number | null;
    next_cut: number;
    exact: boolean;
}

/** What a request holds and why: of the next message, or as the receipt of an answered turn is shown. */
export interface Decision {
    settings: Settings;
    locked: boolean;
    lock_reason: string;
    in_words: string;
    facts: Facts;
    /** Receipts of before lack them. `sent` are below the line; above it `pinned` and `older` ones are sent as well. */
    exchanges?: { stored: number; sent: number; pinned: number; older: number };
    verdicts: Verdict[];
    parts: Part[];
    /** In tokens, as are all numbers below. */
    window: number;
    reply: number;
    budget: number | null;
    limit: number;
    prompt_tokens: number;
    /** The model sees nothing above this sequence number; null: no line. */
    horizon: number | null;
    leading: number;
    /** Of previews alone; null where no price is known. */
    price?: NextPrice | null;
    /** How many results and files are one line, and the tokens that this freed. Receipts of before lack it. */
    gave_way?: [number, number];
    layout?: { kind: string; sources?: number[] }[];
    notes?: string[];
    reports?: Record<string, Report>;
    /** Sentences on what becomes of each file. */
    files?: string[];
    /** Whether of a file of the draft the name alone is sent, and another model may take it as it is. */
    another_model?: boolean;
    /** What of the agent's settings the model isn't sent, a sentence each. */
    dropped?: string[];
    /** `kept` is what the next choice starts from, `link` the parameters of a link with these settings. */
    offers?: { closed: string; kept: Choice; link: Choice; list: Offer[] };
    // Of receipts only:
    turn?: string;
    number?: number;
    reported?: Reported | null;
    rounds?: Round[];
    provider?: { kind?: string; label?: string; model: string } | null;
    server_cut?: { sentence: string } | null;
    /** What the model searched and opened of this chat: a query with the messages found, or the number of one. */
    looked_back?: { query?: string; found?: number[]; opened?: number }[];
    since?: Since;
}

// ---- Events: `chatsite/events.py` ----

export interface SnapshotEvent {
    type: "snapshot";
    conversation_id: string;
    conversation: Conversation | null;
    agent: Agent;
    messages: Message[];
    earlier: boolean;
    turn: TurnView | null;
    receipt: Receipt | null;
    engine: Engine;
    forget_above: number;
    summary: Summary;
    /** The name of the Talk room that it is held in, and written in; "" elsewhere. */
    room: string;
}

export interface TurnStartedEvent {
    type: "turn_started";
    conversation: Conversation;
    turn: string;
    client_id: string;
    messages: Message[];
    resent: boolean;
    /** From this sequence number on messages leave the path, or are written further; 0: none. */
    gone_from: number;
    text: string;
    reasoning: string;
}

export interface DecidedEvent {
    type: "decided";
    turn: string;
    receipt: Receipt;
}
export interface DeltaEvent {
    type: "delta";
    turn: string;
    offset: number;
    text: string;
    part: "text" | "reasoning";
}
export interface CallingEvent {
    type: "calling";
    turn: string;
    name: string;
}
export interface CallsStartedEvent {
    type: "calls_started";
    turn: string;
    messages: Message[];
}
export interface CallEndedEvent {
    type: "call_ended";
    turn: string;
    message: Message;
}
export interface WaitingEvent {
    type: "waiting";
    turn: string;
    sentence: string;
    seconds: number;
}
export interface ReadingEvent {
    type: "reading";
    turn: string;
    read: number;
    total: number;
}

/** What happens within the turn that runs. */
export type TurnEvent =
    | DecidedEvent
    | DeltaEvent
    | CallingEvent
    | CallsStartedEvent
    | CallEndedEvent
    | WaitingEvent
    | ReadingEvent;

export interface TurnEndedEvent {
    type: "turn_ended";
    turn: string;
    state: WritingState;
    message: Message | null;
    /** The keys of the turn's receipt that changed since its decision; null: there was none. */
    reported: Partial<Receipt> | null;
    problem: Problem | null;
    messages: Message[];
}

export interface RenamedEvent {
    type: "renamed";
    title: string;
}
export interface HistoryChosenEvent {
    type: "history_chosen";
    history: Choice;
}
export interface MarkedEvent {
    type: "marked";
    message: string;
    pinned: boolean;
    excluded: boolean;
    bookmarked: boolean;
    in_force?: string;
    offered?: string;
    forget_above: number;
    state: WritingState;
    kept_whole: boolean;
}
export interface SummaryChangedEvent {
    type: "summary_changed";
    summary: Summary;
}
export interface CacheChangedEvent {
    type: "cache_changed";
    status: Record<string, number>;
}
/** Messages that were changed or restored, as they are now, and the ids of deleted ones. */
export interface MessagesChangedEvent {
    type: "messages_changed";
    messages: Message[];
    gone: string[];
    forget_above: number;
}
export interface PathChangedEvent {
    type: "path_changed";
    below: number;
}
export interface ClearedEvent {
    type: "cleared";
}
export interface DeletedEvent {
    type: "deleted";
}
/** A temporary chat is an ordinary one now. */
export interface KeptEvent {
    type: "kept";
}
/** Chats that are being imported: `count` messages, 0 while the file is checked. With `chats` they
 * are another program's, and end with a `report`. */
export interface Import {
    title: string;
    done: number;
    count: number;
    note: string;
    conversation: Conversation | null;
    problem: Problem | null;
    chats?: number;
    chats_done?: number;
    report?: ImportReport;
}
/** What an import brought along. `line`: how many of the `stored` messages of its largest chat would
 * be sent now; null where that can't be said. */
export interface ImportReport {
    program: string;
    chats: number;
    messages: number;
    files: number;
    left_out: { kind: string; words: string; count: number; titles: string[] }[];
    line: { id: string; agent: string; title: string; stored: number; sent: number } | null;
}
/** `seconds`: how long to wait before the command may work, 0 where time doesn't help. */
export interface RefusedReply {
    type: "refused";
    ref: string;
    code: string;
    message: string;
    seconds: number;
    costs: Costs | null;
}
/** `too_large` is a decision with more tokens than its limit, where `decision` is null for that reason. */
export interface PreviewReply {
    type: "preview";
    ref: string;
    decision: Decision | null;
    problem: Problem | null;
    too_large?: Decision | null;
}
export interface EngineReply {
    type: "engine";
    state: string;
    sentence: string;
    progress: number | null;
    provider: Provider | null;
}

/** Everything that arrives over the socket. */
export type ServerEvent =
    | SnapshotEvent
    | TurnStartedEvent
    | TurnEvent
    | TurnEndedEvent
    | RenamedEvent
    | HistoryChosenEvent
    | MarkedEvent
    | SummaryChangedEvent
    | CacheChangedEvent
    | MessagesChangedEvent
    | PathChangedEvent
    | ClearedEvent
    | DeletedEvent
    | KeptEvent
    | RefusedReply
    | PreviewReply
    | EngineReply;

/** What a person can mark on a message. */
export type MarkName =
    "pinned" | "excluded" | "bookmarked" | "in_force" | "no_offer" | "forget_above" | "unanswered";

/** Why a message is or isn't sent, and what can be done about that. */
export interface Explanation {
    message: string;
    sent: boolean;
    sentences: string[];
    turn: string | null;
    excluded: string | null;
    fixes: ("pin" | "summary" | "ask" | "remember" | "take_back" | "bring_back" | "include")[];
}
