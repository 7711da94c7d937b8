/** What the server puts into the page itself, and the answers to its plain requests. */

import type { Agent, Decision, Offer, Role } from "./wire.js";

export interface Page {
    agents: Agent[];
    agent: string;
    /** The link names an agent that isn't here. */
    unknown_agent: boolean;
    conversation: string | null;
    /** The Talk rooms that this person may read. */
    rooms: { id: string; title: string; agent: string }[];
    /** "guest:…" or "user:…" */
    owner: string;
    user: { name: string; signed_in: boolean; staff: boolean };
    /** False on a first visit: the page asks for a session before it opens its socket. */
    has_session: boolean;
    /** By their codes, and the one that was chosen here; "": as the browser asks. */
    languages: { names: Record<string, string>; chosen: string };
    signup: boolean;
    /** After how many days without a visit a guest's data are deleted; 0: never. */
    guest_days: number;
    /** Whether a saved chat of this person is being restored. */
    restoring: boolean;
    debug_panel: boolean;
    debug: boolean;
    show_request: boolean;
    max_frame: number;
    max_attachments: number;
    max_attachment_bytes: number;
    urls: Record<string, string>;
    policies: PolicyFacts;
    /** Who decides what the model remembers. */
    memory: "page" | "administrator" | "agent";
    /** Whether any link to a chat of this person is live. */
    shares: boolean;
    /** Whether chats may be temporary here. Older servers don't say so. */
    temporary?: "allowed" | "always" | "off";
    static: StaticFiles;
}

declare global {
    /** The socket that `shell/start.js` began to open; null where it couldn't. */
    var earlySocket: Promise<WebSocket | null> | undefined;
}

/** Addresses of what formatting needs, each loaded when it is first needed. */
export interface StaticFiles {
    highlight?: Record<string, string>;
    worker?: string;
    maths: { script: string; style: string };
}

/** What the page must know of the policies: no module here names one. */
export interface PolicyFacts {
    /** Titles of reports, by their keys. */
    report_titles: Record<string, string>;
    /** The policies that send a running summary. */
    with_summary: string[];
    /** What people read of each history setting, by its name in a decision: no module here names one. */
    settings: Record<string, SettingWords>;
}

/** Of settings that aren't always shown only those are that a source sets. */
export interface SettingWords {
    label: string;
    about: string;
    always_shown: boolean;
}

/** A model that can be chosen. */
export interface Model {
    /** `provider:model`; "" is the agent's own. */
    name: string;
    label: string;
    /** Who has it, where its group doesn't say so. */
    server?: string;
    /** In tokens; `assumed` where it isn't known. */
    window: number | null;
    assumed?: boolean;
    /** In US dollars for a million tokens. */
    price: { prompt: number; cached: number | null; completion: number } | null;
    takes: string[];
    tools: boolean;
    /** Why it can't be chosen now, or "". */
    why_not?: string;
}

export interface ModelGroup {
    title: string;
    note?: string;
    models: Model[];
}

/** The models an agent can be given. `looking`: servers on this machine are still being asked. */
export interface ModelOffer {
    locked: string;
    own: string;
    looking?: boolean;
    groups: ModelGroup[];
}

/** What an agent can be given of the policy and its settings, and what it has. */
export interface AgentMemory {
    closed: string;
    list: Offer[];
    length: number;
    tokens: number | null;
}

/** What the form of an agent shows. */
export interface AgentFormData {
    template: Record<string, any>;
    shared: boolean;
    versions: { number: number; created: string }[];
    tools: string[];
    may_share: boolean;
    memory: AgentMemory;
}

export interface ModelChoice {
    name: string;
    label: string;
}

export interface SummaryVersion {
    version: number;
    text: string;
    first: number;
    last: number;
    /** 0: not known, as it can't be used any more. */
    exchanges: number;
    by: string;
    made_from: number;
    created: string;
    /** Why it can't be brought back, or "". */
    why_not: string;
    shortened: boolean;
    seconds: number | null;
    tokens: number | null;
    /** The version that a person applied, which this one is or was made from; 0: there is none. */
    compaction: number;
    /** Until it is applied again. */
    undone: boolean;
    /** The turns that it doesn't stand for, by the seqs of their first messages. */
    kept: number[];
    /** Exact values that its text lacks, each with its message. */
    lost: { text: string; seq: number }[];
}

/** An exact value that a draft lacks. */
export interface LostValue {
    text: string;
    kind: "path" | "identifier" | "number" | "date" | "name" | "instruction";
    seq: number;
    /** The word behind a number, mostly its unit. */
    unit: string;
}

/** A turn that can fold into a summary; `stays` says why it doesn't. */
export interface FoldingTurn {
    seq: number;
    last: number;
    text: string;
    tokens: number;
    folds: boolean;
    stays: "" | "pinned" | "newest" | "taken out";
}

/** What compacting would fold, free and cost, with a draft that no model wrote. */
export interface CompactPlan {
    turns: FoldingTurn[];
    /** Turns above those; they fold, too. */
    earlier: number;
    tokens: number;
    freed: number;
    limit: number;
    /** US dollars for a model's draft, and for each message afterwards; null: no price is known. */
    cost: number | null;
    saves: number | null;
    /** The model that would write, "" where none answers, and in how many parts. */
    by: string;
    parts: number;
    draft: string;
    lost: LostValue[];
    version: number;
    state: string;
}

/** One part of a draft as a model wrote it. */
export interface CompactDraft {
    text: string;
    part: number;
    parts: number;
    tokens: number | null;
    seconds: number;
    by: string;
}

export interface SummaryVersions {
    on: boolean;
    current: number;
    versions: SummaryVersion[];
    earlier: boolean;
}

/** A link that opens a chat for whoever has it. */
export interface SharedLink {
    id: string;
    path: string;
    created: string;
    ends: string;
    following: boolean;
    receipts: boolean;
    tools: boolean;
    files: boolean;
}

/** `why_not`: why no link can be made of this chat, or "". `sign_in`: with an account one could. */
export interface SharedLinks {
    shares: SharedLink[];
    why_not: string;
    sign_in?: boolean;
}

/** A message of the exact request, as the provider got it. */
export interface RequestMessage {
    role: Role;
    content: string | null;
    tool_calls?: { id: string; function: { name: string; arguments: string } }[];
    tool_call_id?: string;
}

export interface ExactRequest {
    asked: Record<string, unknown>;
    messages: RequestMessage[];
    complete: boolean;
    note: string;
}

/** The same turn under one policy; `outcome` is null where that is known on sending only. */
export interface ComparisonRow {
    key: string;
    words: string;
    /** As on the chip. */
    in_words: string;
    in_force: boolean;
    allowed: boolean;
    why: string;
    changes: Record<string, string | null>;
    note: string;
    outcome: {
        messages: number;
        tokens: number;
        share: number | null;
        groups: number;
        groups_left_out: number;
        groups_cut: number;
        cost: number | null;
        exchanges: Decision["exchanges"];
    } | null;
}

export interface ComparisonAnswer {
    rows: ComparisonRow[];
    stored: number;
    note: string;
}

/** A piece of the engine's cache. `start` -1: it takes no cells now; `size` -1: not known. */
export interface CachePiece {
    key: string;
    seq: number;
    role: string;
    kind: "head" | "message" | "other";
    start: number;
    size: number;
    status: 1 | 0 | -1;
    label: string;
}

/** What a cleanup with one strategy would free. */
export interface CleanupStrategy {
    name: string;
    words: string;
    turns: number;
    messages: number;
    tokens: number;
    enough: boolean;
}

/** What a turn did to the cache, in tokens. */
export interface TurnAccount {
    number: number;
    expected: number;
    reused: number;
    evaluated: number;
    first_token_ms: number | null;
    origin: string;
}

export interface CacheReport {
    place: string;
    available: boolean;
    note: string;
    /** In cells, which are tokens. */
    window: number;
    used: number;
    free: number;
    cleanup: { value: string; source: string; words: string; passed_over: string[] };
    strip: CachePiece[];
    strategies: CleanupStrategy[];
    unloaded: { turns: number; messages: number; tokens: number };
    turns: TurnAccount[];
    misses: number;
    saved: { bytes: number; at: string } | null;
}
