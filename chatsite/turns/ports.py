"""What turns need of storage: one `Storage`, which `wiring` fills. No Django here."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, ParamSpec, Protocol, TypeVar

from chatsite.conversations.values.records import (
    Answer,
    Checkpoint,
    FinishedTurn,
    IndexLines,
    IndexPart,
    IndexProgress,
    LoadedPath,
    OpenConversation,
    PastTurn,
    StartedTurn,
)
from chatsite.conversations.values.summary_records import SummaryState, UnsummarisedPath
from chatsite.errors import Refused
from chatsite.history import Entry, Reach
from chatsite.messages import Attachment, Message, TokenCount
from chatsite.providers.base.files import FileContent
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
        history: Mapping[str, str] = ...,
    ) -> StartedTurn: ...
    def begin_edit(
        self,
        *,
        owner: Any,
        conversation: str,
        agent: str,
        client_id: str,
        message: str,
        user: Message,
        answer: str,
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
        once: bool = False,
    ) -> StartedTurn: ...
    def begin_calls(
        self,
        *,
        turn: str,
        message: Message,
        results: Sequence[Message],
        answer: str,
        quoted: Sequence[int] = (),
    ) -> tuple[MessageView, ...] | None: ...
    def end_call(self, *, turn: str, message: Message) -> MessageView | None: ...
    def save_checkpoints(self, written: Sequence[Checkpoint]) -> Mapping[str, Refused]: ...
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
    def finish_branches(self, *, conversation: str | None = None) -> None: ...
    def end_interrupted(
        self, *, conversation: str | None = None, turn: str | None = None
    ) -> int: ...
    def choose_history(
        self, *, owner: Any, conversation: str, history: Mapping[str, str]
    ) -> None: ...
    def mark_turns(self, *, conversation: str, turns: Sequence[int]) -> dict[str, int]: ...
    def save_counts(self, *, conversation: str, counts: Mapping[str, TokenCount]) -> None: ...


class Reads(Protocol):
    """The store's queries; `conversations.reads.queries` is one."""

    def answer_of(self, *, owner: Any, conversation: str, client_id: str) -> Answer | None: ...
    def agent_of(self, *, owner: Any, conversation: str) -> str: ...
    def kept_choice(self, *, owner: Any, conversation: str) -> dict[str, str] | None: ...
    def current_owner(self, *, conversation: str) -> Any: ...
    def open_conversation(self, *, owner: Any, conversation: str) -> OpenConversation: ...


class PathReads(Protocol):
    """Reads a path as far back as is wanted; `conversations.reads.loading` is one."""

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


class ReceiptReads(Protocol):
    """Turns that were answered; `conversations.reads.receipts` is one."""

    def past_turn(self, *, owner: Any, turn: str) -> PastTurn: ...


class IndexReader(Protocol):
    """What a search index is made of; `conversations.reads.search_index` is one."""

    def index_progress(self, *, owner: Any, conversation: str, last: int) -> IndexProgress: ...
    def lines_between(
        self, *, owner: Any, conversation: str, after: int, before: int, most: int
    ) -> IndexLines: ...


class StoredIndexes(Protocol):
    """Search indexes on disk; `conversations.search_indexes` is one."""

    def load_index(self, *, owner: Any, conversation: str) -> tuple[IndexPart, ...]: ...
    def save_index_part(self, *, conversation: str, text_changes: int, part: IndexPart) -> bool: ...


class SummaryReads(Protocol):
    """`conversations.reads.summary_queries` is one."""

    def summary_state(self, *, owner: Any, conversation: str) -> SummaryState: ...
    def unsummarised_path(self, *, owner: Any, conversation: str) -> UnsummarisedPath: ...
    def still_holds(
        self, *, owner: Any, conversation: str, start: UnsummarisedPath, entries: Sequence[Entry]
    ) -> bool: ...
    def summary_text(self, *, owner: Any, conversation: str, version: int) -> str: ...


class SummaryWrites(Protocol):
    """`conversations.summaries` is one."""

    def fold_summary(
        self,
        *,
        owner: Any,
        conversation: str,
        start: UnsummarisedPath,
        folded: Sequence[Entry],
        messages: int,
        text: str,
        by: str,
        tokens: TokenCount,
        report: Mapping[str, Any],
    ) -> SummaryState | None: ...
    def rewrite_summary(
        self, *, owner: Any, conversation: str, version: int, text: str | None, tokens: TokenCount
    ) -> SummaryState: ...
    def switch_summary(self, *, owner: Any, conversation: str, on: bool) -> SummaryState: ...


class Uploads(Protocol):
    """Uploaded files; `conversations.files.uploads` is one. All raise NotFound."""

    def attachments_of(
        self, owner: Any, ids: Sequence[str], *, conversation: str
    ) -> tuple[Attachment, ...]: ...
    def upload_content(self, owner: Any, *, id: str) -> tuple[bytes, str]: ...
    def upload_text(self, owner: Any, *, id: str) -> str: ...
    def provider_reference(self, owner: Any, *, id: str, at: str) -> str | None: ...
    def save_reference(self, owner: Any, *, id: str, at: str, reference: str | None) -> None: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Storage:
    """Everything that is read and written, and the threads it runs on:
    `await storage.run(storage.reads.agent_of, owner=owner, conversation=id)`."""

    run: WorkRunner
    reads: Reads
    paths: PathReads
    receipts: ReceiptReads
    index: IndexReader
    stored_indexes: StoredIndexes
    summaries: SummaryReads
    summary_writes: SummaryWrites
    writes: Writes
    uploads: Uploads


@dataclass(frozen=True, slots=True)
class StoredFiles:
    """`providers.base.provider.Files` of one owner: no request reaches another owner's file."""

    storage: Storage
    owner: TurnOwner

    async def content(self, attachment: Attachment) -> FileContent:
        read = self.storage.uploads.upload_content
        return FileContent(*await self.storage.run(read, self.owner, id=attachment.id))

    async def text(self, attachment: Attachment) -> str:
        read = self.storage.uploads.upload_text
        return await self.storage.run(read, self.owner, id=attachment.id)

    async def reference(self, attachment: Attachment, *, at: str) -> str | None:
        read = self.storage.uploads.provider_reference
        return await self.storage.run(read, self.owner, id=attachment.id, at=at)

    async def remember(self, attachment: Attachment, *, at: str, reference: str | None) -> None:
        save = self.storage.uploads.save_reference
        await self.storage.run(save, self.owner, id=attachment.id, at=at, reference=reference)
