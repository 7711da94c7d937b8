"""What happens in a conversation, as records that are also the wire format: a tagged union.

A page connects to a `Snapshot`, then applies every event that follows; a snapshot plus its events
equals a fresh snapshot.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

from chatsite.encoding import Record
from chatsite.views import ConversationView, MessageView, Problem, State, SummaryView, TurnView

Json = Mapping[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Snapshot(Record):
    """All that a page needs to show a conversation. `messages` are the newest of the path;
    `earlier` says that there are more above. `conversation` is None for a chat not yet begun.
    From the sequence number `forget_above` on things are remembered; 0 forgets nothing. `room` is
    the name of the Talk room that the conversation is held in, "" elsewhere: it is written there,
    and the page shows it.
    """

    type: ClassVar[str] = "snapshot"
    conversation_id: str
    conversation: ConversationView | None
    agent: Json
    messages: tuple[MessageView, ...]
    earlier: bool
    turn: TurnView | None
    receipt: Json | None
    engine: Json
    forget_above: int = 0
    summary: SummaryView = SummaryView()
    room: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class TurnStarted(Record):
    """A user message was stored and its answer begins. `messages`: the agent's greetings, where
    this is the first turn, and the user message; the page replaces its draft by `client_id`.
    `resent`: the server knew this message already; no second turn begins.

    Where an answer is tried again or continued, or a user message changed, the messages from the
    sequence number `gone_from` on leave the path or are being written further (0: none), and
    `text` and `reasoning` are what the answer begins with."""

    type: ClassVar[str] = "turn_started"
    conversation: ConversationView
    turn: str
    client_id: str
    messages: tuple[MessageView, ...]
    resent: bool = False
    gone_from: int = 0
    text: str = ""
    reasoning: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Decided(Record):
    """The decision of the running turn, before the provider is called: its receipt as it is stored,
    which has codes and values. Its sentences are asked for when somebody looks at it."""

    type: ClassVar[str] = "decided"
    turn: str
    receipt: Json


@dataclass(frozen=True, slots=True, kw_only=True)
class Delta(Record):
    """More of the message being written, from the character `offset` of this `part` of it on."""

    type: ClassVar[str] = "delta"
    turn: str
    offset: int
    text: str
    part: Literal["text", "reasoning"] = "text"


@dataclass(frozen=True, slots=True, kw_only=True)
class Calling(Record):
    """The model is writing a call of this tool."""

    type: ClassVar[str] = "calling"
    turn: str
    name: str


@dataclass(frozen=True, slots=True, kw_only=True)
class CallsStarted(Record):
    """The model asked for tools: its message with the calls, and a running message for each
    result. What follows of the turn is written into a new message, from offset 0."""

    type: ClassVar[str] = "calls_started"
    turn: str
    messages: tuple[MessageView, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class CallEnded(Record):
    """A call has its result: `message` takes the place of the running one."""

    type: ClassVar[str] = "call_ended"
    turn: str
    message: MessageView


@dataclass(frozen=True, slots=True, kw_only=True)
class Waiting(Record):
    """The provider can't answer now and is asked once more in so many `seconds`. Over with the
    next event of the turn."""

    type: ClassVar[str] = "waiting"
    turn: str
    sentence: str
    seconds: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading(Record):
    """The model has read so many tokens of a long prompt. Over with the next event of the turn."""

    type: ClassVar[str] = "reading"
    turn: str
    read: int
    total: int


@dataclass(frozen=True, slots=True, kw_only=True)
class TurnEnded(Record):
    """The turn is over, once and for all. `message` is the stored answer, if there is one;
    `messages` are the results of calls that were ended with the turn. `reported` are the keys of
    the receipt that changed since the decision; None where there was none."""

    type: ClassVar[str] = "turn_ended"
    turn: str
    state: State
    message: MessageView | None
    reported: Json | None
    problem: Problem | None
    messages: tuple[MessageView, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Renamed(Record):
    type: ClassVar[str] = "renamed"
    title: str


@dataclass(frozen=True, slots=True, kw_only=True)
class HistoryChosen(Record):
    """A policy or its settings were chosen for the conversation: the choice that is kept now."""

    type: ClassVar[str] = "history_chosen"
    history: Mapping[str, str]


@dataclass(frozen=True, slots=True, kw_only=True)
class Marked(Record):
    """A person marked a message: what is marked on it now (as in MessageView), its state (which
    says whether it is left out because its answer failed), and from where on all is remembered."""

    type: ClassVar[str] = "marked"
    message: str
    pinned: bool
    excluded: bool
    bookmarked: bool
    in_force: str = ""
    offered: str = ""
    forget_above: int
    state: State
    kept_whole: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class SummaryChanged(Record):
    """The running summary was made, edited, switched or lost: what holds now."""

    type: ClassVar[str] = "summary_changed"
    summary: SummaryView


@dataclass(frozen=True, slots=True, kw_only=True)
class CacheChanged(Record):
    """The books of the engine's KV cache were written. `status` names the messages whose status
    is a new one: 1 loaded, 0 marked for cleanup, -1 unloaded."""

    type: ClassVar[str] = "cache_changed"
    status: Mapping[str, int]


@dataclass(frozen=True, slots=True, kw_only=True)
class MessagesChanged(Record):
    """Messages of the path whose text was changed, or that were restored, as they are now; the ids
    of those that were deleted (`gone`), and from where on all is remembered."""

    type: ClassVar[str] = "messages_changed"
    messages: tuple[MessageView, ...]
    gone: tuple[str, ...]
    forget_above: int


@dataclass(frozen=True, slots=True, kw_only=True)
class PathChanged(Record):
    """The path is another one below the sequence number `below`: the page opens a fresh snapshot,
    and keeps what it knows of the path above."""

    type: ClassVar[str] = "path_changed"
    below: int


@dataclass(frozen=True, slots=True)
class Cleared(Record):
    """The path is empty again; what was said stays stored, off the path."""

    type: ClassVar[str] = "cleared"


@dataclass(frozen=True, slots=True)
class Deleted(Record):
    type: ClassVar[str] = "deleted"


@dataclass(frozen=True, slots=True)
class Kept(Record):
    """A temporary chat is an ordinary one from now on."""

    type: ClassVar[str] = "kept"


Event = (
    TurnStarted
    | Decided
    | Delta
    | Calling
    | CallsStarted
    | CallEnded
    | Waiting
    | Reading
    | TurnEnded
    | Renamed
    | HistoryChosen
    | Marked
    | SummaryChanged
    | MessagesChanged
    | PathChanged
    | CacheChanged
    | Cleared
    | Deleted
    | Kept
)


@dataclass(frozen=True, slots=True)
class Relayed:
    """An event that happened on another server, as a page is sent it."""

    wire: Json

    @property
    def type(self) -> str:
        return str(self.wire["type"])

    def to_dict(self) -> Json:
        return self.wire


@dataclass(frozen=True, slots=True, kw_only=True)
class Refusal(Record):
    """The answer to one command of one socket; `ref` is the command's own. `seconds` is how long to
    wait before it may work, 0 where time doesn't help; `costs` is of what is asked first."""

    type: ClassVar[str] = "refused"
    ref: str
    problem: Problem
    seconds: int = 0
    costs: Json | None = None

    def to_dict(self) -> dict[str, Any]:
        flat = {"type": self.type, "ref": self.ref, **self.problem.to_dict()}
        return flat | {"seconds": self.seconds, "costs": self.costs}


@dataclass(frozen=True, slots=True, kw_only=True)
class Preview(Record):
    """What the next message would be sent with. `decision` is None where it can't be sent;
    `too_large` is one with more tokens than its limit, where that is the reason."""

    type: ClassVar[str] = "preview"
    ref: str
    decision: Json | None
    problem: Problem | None = None
    too_large: Json | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class EngineStatus(Record):
    """Whether the agent's provider can answer now; `progress` is 0.0 to 1.0 or None.

    `provider` is who that is, as in the agent: another one may have to stand in.
    """

    type: ClassVar[str] = "engine"
    state: str
    sentence: str
    progress: float | None = None
    provider: Json


Reply = Snapshot | Refusal | Preview | EngineStatus
