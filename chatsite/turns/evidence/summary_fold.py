"""One fold: older turns and the summary so far become the next summary, as a model writes it."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

from chatsite.conversations.path.loading import load_turns
from chatsite.conversations.summaries.queries import (
    SummaryState,
    UnsummarisedPath,
    still_holds,
    unsummarised_path,
)
from chatsite.conversations.summaries.versions import fold_summary
from chatsite.errors import ProviderError
from chatsite.history import PathTurn, split_turns
from chatsite.history.compaction import lost_of
from chatsite.history.summary_plan import (
    RequestLoad,
    SummaryPiece,
    SummaryTask,
    most_tokens,
    split_into_pieces,
    turns_to_fold,
)
from chatsite.history.token_estimate import tokens_of
from chatsite.providers.base.provider import Model
from chatsite.turns.context.turn_context import TurnContext
from chatsite.turns.evidence.completion import side_model
from chatsite.turns.evidence.summary_writer import Outdated, SummaryWriter, room_of
from chatsite.wording import say

# A run that needs more calls stores what it has; the next turn's end goes on from there.
MOST_PIECES = 24
# Characters of a model's name that are stored.
LONGEST_LABEL = 80


@dataclass(frozen=True, slots=True, kw_only=True)
class FoldResult:
    """The summary's state after a fold, None where nothing changed, and why it went no further."""

    state: SummaryState | None = None
    failure: ProviderError | TimeoutError | None = None


@dataclass(frozen=True, slots=True)
class SummaryFold:
    """Makes one conversation's next summary."""

    context: TurnContext
    keep: str = ""

    @property
    def most(self) -> int:
        """Tokens that the summary may take."""
        return most_tokens(self.context.limit)

    @property
    def task(self) -> SummaryTask:
        return SummaryTask(prompt=self.context.settings.summary_prompt.value, keep=self.keep)

    async def make(self) -> FoldResult:
        """Empty where no fold is needed, or the conversation changed meanwhile.

        What was made before a call failed or was cancelled, or before something that was still to
        be summarised changed, is stored. Raises NotFound for a conversation that is gone,
        ProviderError where no model can be asked.
        """
        context = self.context
        start = await unsummarised_path(owner=context.owner, conversation=context.conversation)
        if not start.state.on:
            return FoldResult()
        load = await self._load(start)
        # Both take 50 us a message: a long conversation would hold up everybody's answers.
        folded = await asyncio.to_thread(turns_to_fold, start.entries, load)
        if not folded:
            return FoldResult()
        wanted = await self.pieces(start, folded, most=MOST_PIECES)
        writer = self.writer(start)
        failure = await _write(writer, wanted)
        return FoldResult(state=await self._store(start, writer), failure=failure)

    async def pieces(
        self, start: UnsummarisedPath, folded: Sequence[PathTurn], *, most: int | None = None
    ) -> list[SummaryPiece]:
        """The questions that writing takes. Raises ProviderError where no model can be asked."""
        room = room_of(self.model, self.most, self.task)
        return await asyncio.to_thread(
            split_into_pieces, start.entries, folded, room=room, most=most
        )

    @property
    def model(self) -> Model:
        model = writing_model(self.context)
        if model is None:
            raise ProviderError(say("No model answers here that could write one."), code="no_model")
        return model

    def writer(self, start: UnsummarisedPath, text: str | None = None) -> SummaryWriter:
        """Goes on from `text`, None for the summary that holds."""
        held = start.state.summary.text if start.state.summary else ""
        return SummaryWriter(
            agent=self.context.agent,
            conversation=self.context.conversation,
            model=self.model,
            most=self.most,
            may_send=partial(self._still_holds, start),
            task=self.task,
            text=held if text is None else text,
        )

    async def _load(self, start: UnsummarisedPath) -> RequestLoad:
        agent = self.context.agent
        tokenizer = agent.provider.tokenizer(agent.model)
        counts = await tokenizer.count(agent.head.messages)
        owner, conversation = self.context.owner, self.context.conversation
        summary = start.state.summary
        stay = summary.kept if summary else ()
        kept = await load_turns(owner=owner, conversation=conversation, seqs=stay) if stay else ()
        return RequestLoad(
            fixed=sum(count.count for count in counts)
            + sum(tokens_of(entry.message) for entry in kept),
            summary=summary.tokens.count if summary else 0,
            limit=self.context.limit,
            low_water=self.context.settings.low_water.value,
            keep_results=self.context.settings.keep_results.value,
            fold_at=self.context.settings.fold_at.value,
        )

    async def _still_holds(self, start: UnsummarisedPath, parts: Sequence[SummaryPiece]) -> bool:
        """A person may change a lot in the minutes that many calls take. One read a call."""
        return await still_holds(
            owner=self.context.owner,
            conversation=self.context.conversation,
            start=start,
            entries=[entry for piece in parts for entry in piece.entries],
        )

    async def _store(self, start: UnsummarisedPath, written: SummaryWriter) -> SummaryState | None:
        if written.tokens is None:
            return None
        folded = [entry for piece in written.pieces for entry in piece.entries]
        turns = split_turns([e for e in folded if e.message.role != "system"])
        return await fold_summary(
            owner=self.context.owner,
            conversation=self.context.conversation,
            start=start,
            folded=folded,
            messages=sum(piece.messages for piece in written.pieces),
            text=written.text,
            by=written.model.label[:LONGEST_LABEL],
            tokens=written.tokens,
            report=written.report() | {"lost": await find_lost(turns, written.text)},
        )


async def find_lost(turns: Sequence[PathTurn], text: str) -> list[tuple[str, int]]:
    """The exact values that the text lost of these turns, as a version stores them."""
    found = await asyncio.to_thread(lost_of, turns, text)
    return [(value.text, value.seq) for value in found]


async def _write(
    writer: SummaryWriter, wanted: Sequence[SummaryPiece]
) -> ProviderError | TimeoutError | None:
    """Take up piece by piece; return why it went no further, None where nothing failed."""
    for piece in wanted:
        try:
            await writer.take_up(piece)
        except (ProviderError, TimeoutError) as error:
            return error
        except (Outdated, asyncio.CancelledError):
            break
    return None


def writing_model(context: TurnContext) -> Model | None:
    """Return the model that writes: by name, or the provider's small one, or its own; None where no
    model answers."""
    agent = context.agent
    if agent.provider.kind == "echo":
        return None
    return side_model(agent, context.settings.summary_model.value) or agent.provider.model(None)
