"""One fold: older turns and the summary so far become the next summary, as a model writes it."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from chatsite.conversations.values.summary_records import SummaryState, UnsummarisedPath
from chatsite.errors import ProviderError
from chatsite.history import Entry, Settings, Window
from chatsite.history.summary_plan import (
    RequestLoad,
    SummaryPiece,
    most_tokens,
    split_into_pieces,
    turns_to_fold,
)
from chatsite.messages import TokenCount
from chatsite.providers.base.model import Model
from chatsite.turns.agents.resolved_agent import ResolvedAgent
from chatsite.turns.context.token_counts import token_counts
from chatsite.turns.evidence.completion import side_model
from chatsite.turns.evidence.summary_writer import Outdated, SummaryDraft, SummaryWriter, room_of
from chatsite.turns.ports import TurnOwner, WorkRunner

# A run that needs more calls stores what it has; the next turn's end goes on from there.
MOST_PIECES = 24


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


class SummaryReads(Protocol):
    """`conversations.reads.summary_queries` is one."""

    def summary_state(self, *, owner: Any, conversation: str) -> SummaryState: ...
    def unsummarised_path(self, *, owner: Any, conversation: str) -> UnsummarisedPath: ...
    def still_holds(
        self, *, owner: Any, conversation: str, start: UnsummarisedPath, entries: Sequence[Entry]
    ) -> bool: ...
    def summary_text(self, *, owner: Any, conversation: str, version: int) -> str: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class FoldResult:
    """What stands after a fold, None for what stood before, and why it went no further."""

    standing: SummaryState | None = None
    failure: ProviderError | TimeoutError | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class SummaryFold:
    """What is needed to make one conversation's next summary."""

    owner: TurnOwner
    conversation: str
    answering: ResolvedAgent
    settings: Settings
    run: WorkRunner
    reads: SummaryReads
    writes: SummaryWrites

    async def make(self) -> FoldResult:
        """Nothing stands anew where no fold is needed, or the conversation changed meanwhile.

        What was made before a call failed, or was cancelled, or before something changed that
        was still to come, is stored. Raises NotFound for a conversation that is gone,
        ProviderError where no model can be asked.
        """
        start = await self.run(
            self.reads.unsummarised_path, owner=self.owner, conversation=self.conversation
        )
        if not start.state.on:
            return FoldResult()
        load = await self._load(start)
        # Both take 50 us a message: in a long conversation everybody's answers would stand still.
        folded = await asyncio.to_thread(turns_to_fold, start.entries, load)
        if not folded:
            return FoldResult()
        model, most = self._model(), most_tokens(load.limit)

        async def may_send(parts: Sequence[SummaryPiece]) -> bool:
            return await self._still_holds(start, parts)

        wanted = await asyncio.to_thread(
            split_into_pieces, start.entries, folded, room=room_of(model, most), most=MOST_PIECES
        )
        base = start.state.summary
        made = SummaryDraft(base.text if base else "")
        writer = SummaryWriter(
            answering=self.answering,
            conversation=self.conversation,
            model=model,
            most=most,
            may_send=may_send,
        )
        failure: ProviderError | TimeoutError | None = None
        for piece in wanted:
            try:
                await writer.take_up(piece, made)
            except (ProviderError, TimeoutError) as error:
                failure = error
                break
            except (Outdated, asyncio.CancelledError):
                break
        stored = await self._store(start, made, model) if made.tokens else None
        return FoldResult(standing=stored, failure=failure)

    async def _load(self, start: UnsummarisedPath) -> RequestLoad:
        head, window = self.answering.head.messages, self.answering.window
        counts = await token_counts(self.answering.provider.tokenizer(self.answering.model), head)
        summary = start.state.summary
        return RequestLoad(
            fixed=sum(count.count for count in counts),
            summary=summary.tokens.count if summary else 0,
            limit=limit_of(window, self.settings),
            low_water=self.settings.low_water.value,
        )

    def _model(self) -> Model:
        model = writing_model(self.answering, self.settings)
        if model is None:
            raise ProviderError("No model answers here that could write one.", code="no_model")
        return model

    async def _still_holds(self, start: UnsummarisedPath, parts: Sequence[SummaryPiece]) -> bool:
        """A person may change a lot in the minutes that many calls take. One read a call."""
        return await self.run(
            self.reads.still_holds,
            owner=self.owner,
            conversation=self.conversation,
            start=start,
            entries=[entry for piece in parts for entry in piece.entries],
        )

    async def _store(
        self, start: UnsummarisedPath, made: SummaryDraft, model: Model
    ) -> SummaryState | None:
        assert made.tokens is not None
        return await self.run(
            self.writes.fold_summary,
            owner=self.owner,
            conversation=self.conversation,
            start=start,
            folded=[entry for piece in made.pieces for entry in piece.entries],
            messages=sum(piece.messages for piece in made.pieces),
            text=made.text,
            by=model.label,
            tokens=made.tokens,
            report=made.report(),
        )


def writing_model(answering: ResolvedAgent, settings: Settings) -> Model | None:
    """The one that writes: by name, or the provider's small one, or its own; None where no model
    answers."""
    if answering.provider.kind == "echo":
        return None
    return side_model(answering, settings.summary_model.value) or answering.provider.model(None)


def limit_of(window: Window, settings: Settings) -> int:
    """What a prompt may take, in tokens."""
    budget = settings.tokens.value
    return window.room if budget is None else min(budget, window.room)
