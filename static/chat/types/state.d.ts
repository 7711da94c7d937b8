/** What the page knows of the open conversation. */

import type {
    Agent,
    Attachment,
    Choice,
    Conversation,
    Costs,
    Decision,
    Engine,
    Message,
    Problem,
    Quote,
    Receipt,
    Summary,
    WritingState,
} from "./wire.js";

/** What a person has typed and attached. */
export interface Draft {
    text: string;
    reply: Quote | null;
    attachments: Attachment[];
}

/** A message that is drawn but not yet stored. */
export interface PendingMessage extends Draft, Confirmed {
    client_id: string;
    ref: string;
    model: string | null;
    /** The last sequence number when it was sent. */
    after: number;
    at: string;
}

/** The provider is asked again; 0 seconds: not known when. */
export interface Waiting {
    sentence: string;
    seconds: number;
}

/** How much of a long prompt the model has read, in tokens. */
export interface Reading {
    read: number;
    total: number;
}

/** The message that is being written. */
export interface RunningTurn {
    id: string;
    user_message: string;
    text: string;
    reasoning: string;
    /** Names of the tools whose calls are being written. */
    calling: string[];
    waiting: Waiting | null;
    reading: Reading | null;
    /** In characters as the server counts them, not in UTF-16 units. */
    lengths: { text: number; reasoning: number };
}

export interface Refusal extends Problem {
    ref: string;
    /** The draft that was refused; null where another command was. */
    draft: PendingMessage | null;
    costs: Costs | null;
}

/** What a person answered when a message's price was asked about; `once` is a cheaper policy for this message alone. */
export interface Confirmed {
    confirmed?: boolean;
    once?: Choice;
}

export interface State {
    conversationId: string;
    agentSlug: string;
    /** A snapshot arrived over the present connection. */
    opened: boolean;
    conversation: Conversation | null;
    agent: Agent | null;
    messages: Message[];
    /** There are older messages that aren't loaded. */
    earlier: boolean;
    /** The name of the Talk room whose conversation it is: it can be read here, and is written there. "" elsewhere. */
    room: string;
    turn: RunningTurn | null;
    /** The last answer's. */
    receipt: Receipt | null;
    /** What the next message would be sent with. */
    decision: Decision | null;
    problem: Problem | null;
    /** The preview that is awaited. */
    previewRef: string | null;
    engine: Engine | null;
    pending: PendingMessage[];
    /** Messages above this sequence number are forgotten; 0: none are. */
    forgetAbove: number;
    summary: Summary;
    refusal: Refusal | null;
    ended: { turn: string; state: WritingState; problem: Problem | null } | null;
    /** An event is missing: a new snapshot is needed. */
    stale: boolean;
    /** Messages up to this sequence number are still those of the path; a new snapshot makes sure of the rest. */
    sure: number;
    deleted: boolean;
    /** Counts the changes of the engine's cache that this page heard of. */
    cacheVersion: number;
}
