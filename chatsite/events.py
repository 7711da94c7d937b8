"""What happens, as values that are also the wire format: a tagged union, each with `to_dict`.

The page connects to a `Snapshot`, then applies every event that follows; a snapshot plus its
events equals a fresh snapshot.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any, ClassVar, Literal

from chatsite.messages import Message, Role

Json = Mapping[str, Any]
State = Literal["running", "complete", "stopped", "failed", "interrupted"]


@dataclass(frozen=True, slots=True, kw_only=True)
class ConversationView:
    """One conversation in a list or at the top of the page. Times are ISO 8601, UTC. `model` is the
    one chosen for it in the page, as `provider:name`; "": the agent's own."""

    id: str
    agent: str
    title: str
    created: str
    updated: str
    model: str = ""

    def to_dict(self) -> dict[str, Any]:
        return asdict(self)


@dataclass(frozen=True, slots=True, kw_only=True)
class Problem:
    """What went wrong, what was kept and what can be done, for a person to read."""

    code: str
    message: str

    def to_dict(self) -> dict[str, Any]:
        return asdict(self)


@dataclass(frozen=True, slots=True, kw_only=True)
class Quote:
    """The message that another one replies to; `text` is its beginning."""

    id: str
    seq: int
    role: Role
    text: str

    def to_dict(self) -> dict[str, Any]:
        return asdict(self)


@dataclass(frozen=True, slots=True, kw_only=True)
class MessageView:
    """A stored message as the page shows it. `state` is that of its writing.

    `turn` is set where the message is a turn's answer, so that its receipt can be asked for.
    `problem` is what went wrong with the turn, said of the user message that began it; of an
    answer it says that the server cut the prompt. `state` "running" of a tool message: its call
    hasn't ended. `versions` are the ids of all answers to the same message in order, where
    there are several (of a turn with tool calls, the id of its first assistant message).
    """

    message: Message
    seq: int
    state: State
    created: str
    turn: str | None = None
    finish_reason: str = ""
    pinned: bool = False
    excluded: bool = False
    reply: Quote | None = None
    problem: Problem | None = None
    versions: tuple[str, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        message = self.message
        tokens = message.tokens
        return {
            "id": message.id,
            "seq": self.seq,
            "role": message.role,
            "content": message.content,
            "reasoning": message.reasoning,
            "source": message.source,
            "state": self.state,
            "created": self.created,
            "turn": self.turn,
            "finish_reason": self.finish_reason,
            "pinned": self.pinned,
            "excluded": self.excluded,
            "reply": self.reply.to_dict() if self.reply else None,
            "problem": self.problem.to_dict() if self.problem else None,
            "calls": [asdict(call) for call in message.calls],
            "call_id": message.call_id,
            "attachments": [asdict(attachment) for attachment in message.attachments],
            "tokens": None if tokens is None else asdict(tokens),
            "versions": list(self.versions),
            "kv_status": message.kv_status,
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class TurnView:
    """A turn that runs: `text` and `reasoning` are what has been written so far of the message
    that is being written; what the turn has finished stands among the messages. `calling` names
    the tools whose calls the model is writing; `waiting` is a sentence where the provider is to be
    asked again; `reading` is how much of a long prompt was read and how long it is, in tokens, both
    0 where nothing is told of it."""

    id: str
    user_message: str
    text: str = ""
    reasoning: str = ""
    calling: tuple[str, ...] = ()
    waiting: str = ""
    reading: tuple[int, int] = (0, 0)

    def to_dict(self) -> dict[str, Any]:
        return asdict(self) | {"calling": list(self.calling), "reading": list(self.reading)}


@dataclass(frozen=True, slots=True, kw_only=True)
class SummaryView:
    """The running summary that holds for the path, of `messages` up to the sequence number `last`;
    version 0 where there is none. `on`: it may be sent and made in this conversation."""

    on: bool = True
    version: int = 0
    messages: int = 0
    by: str = ""
    last: int = 0

    def to_dict(self) -> dict[str, Any]:
        return asdict(self)


@dataclass(frozen=True, slots=True, kw_only=True)
class Snapshot:
    """All that a page needs to show a conversation. `messages` are the newest of the path;
    `earlier` says that there are more above. `conversation` is None for a chat not yet begun.
    From the sequence number `forget_above` on things are remembered; 0 forgets nothing.
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

    def to_dict(self) -> dict[str, Any]:
        return {
            "type": self.type,
            "conversation_id": self.conversation_id,
            "conversation": self.conversation.to_dict() if self.conversation else None,
            "agent": dict(self.agent),
            "messages": [message.to_dict() for message in self.messages],
            "earlier": self.earlier,
            "turn": self.turn.to_dict() if self.turn else None,
            "receipt": dict(self.receipt) if self.receipt is not None else None,
            "engine": dict(self.engine),
            "forget_above": self.forget_above,
            "summary": self.summary.to_dict(),
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class TurnStarted:
    """A user message was stored and its answer begins. `messages`: the agent's greetings, where
    this is the first turn, and the user message; the page replaces its draft by `client_id`.
    `resent`: the server knew this message already; nothing begins anew.

    Where an answer is tried again or continued, `gone` are the ids of the messages that leave the
    path or are being written further, and `text` and `reasoning` what the answer begins with."""

    type: ClassVar[str] = "turn_started"
    conversation: ConversationView
    turn: str
    client_id: str
    messages: tuple[MessageView, ...]
    resent: bool = False
    gone: tuple[str, ...] = ()
    text: str = ""
    reasoning: str = ""

    def to_dict(self) -> dict[str, Any]:
        return {
            "type": self.type,
            "conversation": self.conversation.to_dict(),
            "turn": self.turn,
            "client_id": self.client_id,
            "resent": self.resent,
            "messages": [message.to_dict() for message in self.messages],
            "gone": list(self.gone),
            "text": self.text,
            "reasoning": self.reasoning,
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class Decided:
    """The decision of the running turn, before the provider is called."""

    type: ClassVar[str] = "decided"
    turn: str
    receipt: Json

    def to_dict(self) -> dict[str, Any]:
        return {"type": self.type, "turn": self.turn, "receipt": dict(self.receipt)}


@dataclass(frozen=True, slots=True, kw_only=True)
class Delta:
    """More of the message being written, from the character `offset` of this `part` of it on."""

    type: ClassVar[str] = "delta"
    turn: str
    offset: int
    text: str
    part: Literal["text", "reasoning"] = "text"

    def to_dict(self) -> dict[str, Any]:
        return {
            "type": self.type,
            "turn": self.turn,
            "offset": self.offset,
            "text": self.text,
            "part": self.part,
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class Calling:
    """The model is writing a call of this tool."""

    type: ClassVar[str] = "calling"
    turn: str
    name: str

    def to_dict(self) -> dict[str, Any]:
        return {"type": self.type, **asdict(self)}


@dataclass(frozen=True, slots=True, kw_only=True)
class CallsStarted:
    """The model asked for tools: its message with the calls, and a running message for each
    result. What follows of the turn is written into a new message, from offset 0."""

    type: ClassVar[str] = "calls_started"
    turn: str
    messages: tuple[MessageView, ...]

    def to_dict(self) -> dict[str, Any]:
        messages = [message.to_dict() for message in self.messages]
        return {"type": self.type, "turn": self.turn, "messages": messages}


@dataclass(frozen=True, slots=True, kw_only=True)
class CallEnded:
    """A call has its result: `message` takes the place of the running one."""

    type: ClassVar[str] = "call_ended"
    turn: str
    message: MessageView

    def to_dict(self) -> dict[str, Any]:
        return {"type": self.type, "turn": self.turn, "message": self.message.to_dict()}


@dataclass(frozen=True, slots=True, kw_only=True)
class Waiting:
    """The provider can't answer now and is asked once more in so many `seconds`. Over with the
    next event of the turn."""

    type: ClassVar[str] = "waiting"
    turn: str
    sentence: str
    seconds: float

    def to_dict(self) -> dict[str, Any]:
        return {"type": self.type, **asdict(self)}


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """The model has read so many tokens of a long prompt. Over with the next event of the turn."""

    type: ClassVar[str] = "reading"
    turn: str
    read: int
    total: int

    def to_dict(self) -> dict[str, Any]:
        return {"type": self.type, **asdict(self)}


@dataclass(frozen=True, slots=True, kw_only=True)
class TurnEnded:
    """The turn is over, once and for all. `message` is the stored answer, if there is one;
    `messages` are the results of calls that were ended with the turn."""

    type: ClassVar[str] = "turn_ended"
    turn: str
    state: State
    message: MessageView | None
    receipt: Json | None
    problem: Problem | None
    messages: tuple[MessageView, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        return {
            "type": self.type,
            "turn": self.turn,
            "state": self.state,
            "messages": [message.to_dict() for message in self.messages],
            "message": self.message.to_dict() if self.message else None,
            "receipt": dict(self.receipt) if self.receipt is not None else None,
            "problem": self.problem.to_dict() if self.problem else None,
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class Renamed:
    type: ClassVar[str] = "renamed"
    title: str

    def to_dict(self) -> dict[str, Any]:
        return {"type": self.type, "title": self.title}


@dataclass(frozen=True, slots=True, kw_only=True)
class Marked:
    """A person marked a message: what is marked on it now, and from where on all is remembered."""

    type: ClassVar[str] = "marked"
    message: str
    pinned: bool
    excluded: bool
    forget_above: int

    def to_dict(self) -> dict[str, Any]:
        return {"type": self.type, **asdict(self)}


@dataclass(frozen=True, slots=True, kw_only=True)
class SummaryChanged:
    """The running summary was made, edited, switched or lost: what holds now."""

    type: ClassVar[str] = "summary_changed"
    summary: SummaryView

    def to_dict(self) -> dict[str, Any]:
        return {"type": self.type, "summary": self.summary.to_dict()}


@dataclass(frozen=True, slots=True, kw_only=True)
class CacheChanged:
    """The books of the engine's KV cache were written. `status` names the messages whose status
    is a new one: 1 loaded, 0 marked for cleanup, -1 unloaded."""

    type: ClassVar[str] = "cache_changed"
    status: Mapping[str, int]

    def to_dict(self) -> dict[str, Any]:
        return {"type": self.type, "status": dict(self.status)}


@dataclass(frozen=True, slots=True)
class PathChanged:
    """Another version of an answer is shown now: the page opens a fresh snapshot."""

    type: ClassVar[str] = "path_changed"

    def to_dict(self) -> dict[str, Any]:
        return {"type": self.type}


@dataclass(frozen=True, slots=True)
class Cleared:
    """The path is empty again; what was said stays stored, off the path."""

    type: ClassVar[str] = "cleared"

    def to_dict(self) -> dict[str, Any]:
        return {"type": self.type}


@dataclass(frozen=True, slots=True)
class Deleted:
    type: ClassVar[str] = "deleted"

    def to_dict(self) -> dict[str, Any]:
        return {"type": self.type}


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
    | Marked
    | SummaryChanged
    | PathChanged
    | CacheChanged
    | Cleared
    | Deleted
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Refusal:
    """The answer to one command of one socket; `ref` is the command's own."""

    type: ClassVar[str] = "refused"
    ref: str
    problem: Problem

    def to_dict(self) -> dict[str, Any]:
        return {"type": self.type, "ref": self.ref, **self.problem.to_dict()}


@dataclass(frozen=True, slots=True, kw_only=True)
class Preview:
    """What the next message would be sent with. `decision` is None where it can't be sent."""

    type: ClassVar[str] = "preview"
    ref: str
    decision: Json | None
    problem: Problem | None = None

    def to_dict(self) -> dict[str, Any]:
        return {
            "type": self.type,
            "ref": self.ref,
            "decision": dict(self.decision) if self.decision is not None else None,
            "problem": self.problem.to_dict() if self.problem else None,
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class Engine:
    """Whether the agent's provider can answer now; `progress` is 0.0 to 1.0 or None.

    `provider` is who that is, as in the agent: another one may have to stand in.
    """

    type: ClassVar[str] = "engine"
    state: str
    sentence: str
    progress: float | None = None
    provider: Json

    def to_dict(self) -> dict[str, Any]:
        return {"type": self.type, **asdict(self)}


Reply = Snapshot | Refusal | Preview | Engine
