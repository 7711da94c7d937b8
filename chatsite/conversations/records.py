"""Holds what storage returns to its callers: plain values, no rows."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from chatsite.conversations.owners import Owner
from chatsite.errors import Refused
from chatsite.history import Entry, Reach, RunningSummary, Transcript
from chatsite.history.lexical.index import Line
from chatsite.views import ConversationView, MessageView, Problem, State, SummaryView


@dataclass(frozen=True, slots=True, kw_only=True)
class LoadedPath:
    """Holds a transcript and the other stored inputs of a decision.

    `agent` is the conversation's, "" for a new chat; `receipt` is that of the last answer, whose
    last request was sent at the time `sent`, in seconds. In a preview the draft has the sequence
    number `next_seq`; `forgets_all`: the marker "forget what is above" waits for it.
    """

    agent: str
    transcript: Transcript
    next_seq: int
    receipt: Mapping[str, Any] | None
    sent: float = 0.0
    forgets_all: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class StartedTurn:
    """Describes a turn that was stored, or found again (`resent`) under the same client id.

    `asked` is the id of the user message that it answers, `reply_to` the message that this one
    replies to; `place` is the answer's sequence number. `loaded` is the input of its decision, None
    for a turn that was found again, and where it is so long that the turn reads it itself. `quoted`
    are the messages that were quoted for an answer that is continued, by sequence number. For the
    rest see `events.TurnStarted`.
    """

    turn: str
    number: int
    resent: bool
    conversation: ConversationView
    messages: tuple[MessageView, ...]
    answer: str
    place: int = 0
    asked: str = ""
    reply_to: str | None = None
    loaded: LoadedPath | None = None
    gone_from: int = 0
    text: str = ""
    reasoning: str = ""
    quoted: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class NewTurn:
    """Says what every turn begins with; it is unique by (conversation, client_id).

    `answer` is the id of the coming answer, `model` the page's choice, "" for the agent's own, and
    `tuning` that of the answers' temperature and length, None where the page doesn't say. What
    `reach` needs is read where the turn is stored. `server` writes the answer; its owner may have
    `most` written at once on all servers together, None where there is only this one, which counts
    them itself. A conversation that it begins is `temporary`.
    """

    owner: Owner
    conversation: str
    agent: str
    client_id: str
    answer: str
    reach: Reach
    model: str = ""
    tuning: Mapping[str, float] | None = None
    server: str | None = None
    most: int | None = None
    temporary: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Checkpoint:
    """Holds the text so far of the message `answer`; the receipt where it isn't stored yet."""

    turn: str
    answer: str
    text: str
    reasoning: str = ""
    receipt: Mapping[str, Any] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Saved:
    """Says by turn id what checkpoints met: no room for more text, or a turn that was `ended`
    elsewhere."""

    full: Mapping[str, Refused]
    ended: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True, kw_only=True)
class PastTurn:
    """Holds an answered turn with the inputs of its decision: the path down to its user message
    with the receipt of the answer before (`loaded`), and its own receipt as it is shown. `summary`
    is the version that it was sent or could have been sent; `model` is the conversation's model
    now, "" for the agent's own."""

    conversation: str
    model: str
    loaded: LoadedPath
    receipt: Mapping[str, Any]
    summary: RunningSummary | None


@dataclass(frozen=True, slots=True, kw_only=True)
class FinishedTurn:
    """Describes how a turn ended. `messages` are the results of tool calls that the turn's end
    stopped; where a retry left no answer, the messages of the former answer, which is on the path
    again; and the user message where it became unanswered, or no longer is. Where more came back
    than the former answer, the path below the seq `below` must be read anew; otherwise that is
    None."""

    turn: str
    state: State
    message: MessageView | None
    problem: Problem | None
    messages: tuple[MessageView, ...] = ()
    below: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """Says what became of a question that was asked outside the page.

    `turn` is "" where no turn could begin. `text` is what was written, "" for nothing; `message` is
    the id of the answer's last message, `asked` that of the question. `receipt` is the stored one.
    """

    turn: str
    state: State
    text: str
    problem: Problem | None
    receipt: Mapping[str, Any] | None
    message: str = ""
    asked: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class WrittenSoFar:
    """Holds what was saved of a running answer's last message, and its receipt once decided."""

    text: str
    reasoning: str
    receipt: Mapping[str, Any] | None


@dataclass(frozen=True, slots=True, kw_only=True)
class OpenConversation:
    """Holds a conversation as a page first shows it, by default a new chat; `running` is the id of
    its running turn; `earlier`: there are messages above these."""

    conversation: ConversationView | None = None
    messages: tuple[MessageView, ...] = ()
    earlier: bool = False
    running: str | None = None
    running_user: str | None = None
    receipt: Mapping[str, Any] | None = None
    forget_above: int = 0
    summary: SummaryView = SummaryView()


@dataclass(frozen=True, slots=True, kw_only=True)
class WholePath:
    """Holds a conversation for saving to a file, without the running answer. The first
    `forget_above` entries are above the marker; `receipt` is that of the last answer, `bookmarked`
    are seqs."""

    conversation: ConversationView
    entries: tuple[Entry, ...]
    bookmarked: frozenset[int]
    forget_above: int
    receipt: Mapping[str, Any] | None


@dataclass(frozen=True, slots=True, kw_only=True)
class IndexProgress:
    """Says where on the path an index ends.

    `newest` are the last indexable messages up to the index's last one, newest first: that one is
    on the path if it is the first of them. On the path are `messages` of all kinds up to it, and
    `waiting` after it. `text_changes` is the conversation's.
    """

    newest: tuple[int, ...] = ()
    messages: int = 0
    waiting: int = 0
    text_changes: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class IndexPart:
    """Holds passages `first` to `end` of a stored index; up to the last, `messages` were on the
    path.

    `tokens` are those of sentence vectors, empty where the index was made without them.
    """

    first: int
    end: int
    messages: int
    data: bytes
    tokens: bytes = b""


@dataclass(frozen=True, slots=True, kw_only=True)
class IndexLines:
    """Holds lines to index; `messages` of all kinds are on the path up to the last of them."""

    lines: tuple[Line, ...] = ()
    messages: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredConversation:
    """Holds a conversation of any owner, for the administrator's commands. `history` is the choice
    that is kept with it."""

    id: str
    agent: str
    owner: Owner
    history: Mapping[str, str]
