"""What the turns need of the world, as protocols that `wiring` fills. No Django here."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any, Literal, ParamSpec, Protocol, TypeVar

from chatsite.conversations.values.records import (
    Checkpoint,
    FinishedTurn,
    LoadedPath,
    OpenConversation,
    StartedTurn,
)
from chatsite.history import Entry, Reach
from chatsite.messages import Attachment, Message, TokenCount
from chatsite.views import MessageView, Problem, State

P = ParamSpec("P")
T = TypeVar("T")


class TurnOwner(Protocol):
    """Whose conversation it is; `key` is one text per owner."""

    @property
    def key(self) -> str: ...


class WorkRunner(Protocol):
    """Runs a unit of work of the store on a thread of the executor."""

    def __call__(
        self, work: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs
    ) -> Awaitable[T]: ...


class Writes(Protocol):
    """The store's units of work; `conversations.store` is one."""

    def begin_turn(
        self,
        *,
        owner: Any,
        conversation: str,
        agent: str,
        client_id: str,
        user: Message,
        answer: str,
        greeting: Sequence[Message],
        reach: Reach,
        model: str = "",
    ) -> StartedTurn: ...
    def begin_retry(
        self,
        *,
        owner: Any,
        conversation: str,
        agent: str,
        client_id: str,
        message: str,
        mode: Literal["again", "continue"],
        answer: str,
        reach: Reach,
        model: str = "",
    ) -> StartedTurn: ...
    def begin_calls(
        self, *, turn: str, message: Message, results: Sequence[Message], answer: str
    ) -> tuple[MessageView, ...] | None: ...
    def end_call(self, *, turn: str, message: Message) -> MessageView | None: ...
    def save_checkpoints(self, written: Sequence[Checkpoint]) -> None: ...
    def end_turn(
        self,
        *,
        turn: str,
        state: State,
        text: str | None = None,
        reasoning: str | None = None,
        tokens: TokenCount | None = None,
        finish_reason: str = "",
        metadata: str = "",
        receipt: Mapping[str, Any] | None = None,
        problem: Problem | None = None,
    ) -> FinishedTurn | None: ...
    def end_interrupted(
        self, *, conversation: str | None = None, turn: str | None = None
    ) -> int: ...
    def mark_turns(self, *, conversation: str, turns: Sequence[int]) -> dict[str, int]: ...
    def save_counts(self, *, conversation: str, counts: Mapping[str, TokenCount]) -> None: ...


class Uploads(Protocol):
    """Uploaded files, sent here or not sent yet; `conversations.files.uploads` is one."""

    def attachments_of(
        self, owner: Any, ids: Sequence[str], *, conversation: str
    ) -> tuple[Attachment, ...]: ...


class Reads(Protocol):
    """The store's queries; `conversations.reads.queries` is one."""

    def agent_of(self, *, owner: Any, conversation: str) -> str: ...
    def current_owner(self, *, conversation: str) -> Any: ...

    def open_conversation(self, *, owner: Any, conversation: str) -> OpenConversation: ...


class Loads(Protocol):
    """How far back a conversation is read; `conversations.reads.loading` is one."""

    def load_path(
        self,
        *,
        owner: Any,
        conversation: str,
        reach: Reach,
        ahead: int = 0,
        reply_to: str | None = None,
    ) -> LoadedPath: ...
    def load_turns(
        self, *, owner: Any, conversation: str, seqs: Sequence[int]
    ) -> tuple[Entry, ...]: ...
