"""What the store hands to the turns: plain values, no rows."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from chatsite.conversations.values.owners import Owner
from chatsite.history import Entry, RunningSummary, Transcript
from chatsite.history.lexical.index import Line
from chatsite.views import ConversationView, MessageView, Problem, State, SummaryView


@dataclass(frozen=True, slots=True, kw_only=True)
class LoadedPath:
    """A transcript with what the decision needs besides: at most three queries.

    `agent` is the conversation's own, "" for a chat not yet begun; `receipt` is the last
    answer's. For a preview the draft takes the place `next_seq`.
    """

    agent: str
    transcript: Transcript
    next_seq: int
    receipt: Mapping[str, Any] | None


@dataclass(frozen=True, slots=True, kw_only=True)
class StartedTurn:
    """A turn that was stored, or found again (`resent`) under the same client id.

    `asked` is the id of the user message that it answers, `reply_to` what that replies to;
    `place` is the sequence number of the answer. `loaded` is what the turn is decided on, None for
    one that was found again. `gone`, `text` and `reasoning` are those of `events.TurnStarted`.
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
    gone: tuple[str, ...] = ()
    text: str = ""
    reasoning: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Checkpoint:
    """What has been written so far of the message `answer`; the receipt where it isn't kept yet."""

    turn: str
    answer: str
    text: str
    reasoning: str = ""
    receipt: Mapping[str, Any] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class PastTurn:
    """A turn that was answered, as it was asked: the path down to its message, with the receipt
    of the answer before, and its own. `summary` is the version that it had or could have had;
    `model` is the one that the conversation keeps now, "" for the agent's own."""

    conversation: str
    model: str
    loaded: LoadedPath
    receipt: Mapping[str, Any]
    summary: RunningSummary | None


@dataclass(frozen=True, slots=True, kw_only=True)
class FinishedTurn:
    """`messages` are the results of calls that ended with the turn, without having run; and, where
    trying again left nothing, those of the answer before it, which is back on the path."""

    turn: str
    state: State
    message: MessageView | None
    receipt: Mapping[str, Any] | None
    problem: Problem | None
    messages: tuple[MessageView, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class OpenConversation:
    """A conversation as a page shows it first; `running` is the id of a turn under way."""

    conversation: ConversationView | None
    messages: tuple[MessageView, ...]
    earlier: bool
    running: str | None
    running_user: str | None
    receipt: Mapping[str, Any] | None
    forget_above: int = 0
    summary: SummaryView = SummaryView()


@dataclass(frozen=True, slots=True, kw_only=True)
class WholePath:
    """A conversation for saving to a file, without what is being written. The first `forget_above`
    of the entries stand above the marker; `receipt` is the last answer's."""

    conversation: ConversationView
    entries: tuple[Entry, ...]
    forget_above: int
    receipt: Mapping[str, Any] | None


@dataclass(frozen=True, slots=True, kw_only=True)
class IndexProgress:
    """Where an index that ends at a message stands on the path.

    `newest` are the last messages up to that one that can be indexed, newest first: it lies on
    the path if it is the first of them. `messages` of every kind stand on the path up to it, and
    `waiting` behind it.
    """

    newest: tuple[int, ...] = ()
    messages: int = 0
    waiting: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class IndexLines:
    """`messages` of every kind stand on the path up to the last of these lines."""

    lines: tuple[Line, ...] = ()
    messages: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredConversation:
    """A conversation of anybody, for the administrator's own questions."""

    id: str
    agent: str
    owner: Owner
