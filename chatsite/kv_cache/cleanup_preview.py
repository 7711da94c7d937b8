"""Cleanups on demand: what each strategy would unload of a conversation as it is now.

A strategy gets the turns that the next message would be sent with, as it does in place of the
guard. What it doesn't keep is unloaded, and so is every older turn that the policy leaves out now:
otherwise a policy that fills its window from further up would send those instead.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

from chatsite.conversations.path.queries import agent_of
from chatsite.encoding import encode_fields
from chatsite.errors import BadCommand, Refused
from chatsite.history import (
    Decision,
    Everything,
    StoredRun,
    Transcript,
    split_turns,
    tokens_of,
)
from chatsite.history.path.guard import TurnSize
from chatsite.history.path.marks import is_pinned, selectable_entries
from chatsite.kv_cache.cleanup import STRATEGIES, Cleanup, unknown_strategy, unload
from chatsite.turns.context.drafts import EMPTY, Drafts
from chatsite.turns.context.turn_context import PageRequest
from chatsite.wording import later, say

NO_CACHE = later("Not available for this model: {label} doesn't keep its cache on this machine.")
ALWAYS = ("system", "prefilled", "tools", "current")


@dataclass(frozen=True, slots=True, kw_only=True)
class CleanupOffer:
    """Says what one strategy would unload: `turns` by the sequence numbers of their first messages,
    how many `messages` they hold, and by how many `tokens` the next prompt gets shorter. `enough`:
    what stays fits the model's window."""

    name: str
    words: str
    turns: tuple[int, ...]
    messages: int
    tokens: int
    enough: bool

    def to_dict(self) -> dict[str, Any]:
        return encode_fields(self) | {"turns": len(self.turns)}


@dataclass(frozen=True, slots=True, kw_only=True)
class CleanupOffers:
    """Holds an offer for each strategy, or a `note` why there is no cache. `window` is the model's,
    in tokens."""

    note: str
    window: int
    cleanup: Cleanup
    offers: tuple[CleanupOffer, ...] = ()


@dataclass(frozen=True, slots=True)
class _OlderTurn(TurnSize):
    """A turn of `messages` before the next one: what of it may be sent takes `tokens`. `sent`: the
    policy would send it."""

    messages: int
    sent: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class CleanupPreview:
    """Offers cleanups. It stores nothing but token counts; `mark_for_cleanup` carries one out."""

    drafts: Drafts

    async def offers(self, request: PageRequest) -> CleanupOffers:
        """Offer each strategy under the history settings of the query and the conversation, as for
        the next message. Raises NotFound, or PromptTooLarge where not even an empty message has
        room."""
        slug = await agent_of(owner=request.owner, conversation=request.conversation)
        context = await self.drafts.context(replace(request, agent=slug))
        decider = self.drafts.decider
        cleanup, window = decider.cleanup(context.agent), context.agent.window
        if not context.agent.has_cache:
            note = say(NO_CACHE, label=context.agent.model.label)
            return CleanupOffers(note=note, window=window.size, cleanup=cleanup)
        loaded = await self.drafts.load(context, EMPTY, Everything())
        loaded = await decider.with_counts(context, loaded)
        decision = await decider.preview(context, loaded)
        # A long conversation takes 8 us a message.
        older = await asyncio.to_thread(lambda: list(_older_turns(loaded.transcript, decision)))
        fixed = sum(part.tokens for part in decision.parts if part.name in ALWAYS)
        low, room = context.settings.low_water.value, window.room - fixed
        return CleanupOffers(
            note="",
            window=window.size,
            cleanup=cleanup,
            offers=tuple(_offer(name, older, low_water=low, room=room) for name in STRATEGIES),
        )

    async def choose(self, request: PageRequest, strategy: str) -> tuple[int, ...]:
        """Return the turns that a strategy would unload, by their first messages. Raises BadCommand
        for one that there isn't, Refused where there is no cache, and what `offers` does."""
        if problem := unknown_strategy(strategy):
            raise BadCommand(problem)
        offered = await self.offers(request)
        if offered.note:
            raise Refused(offered.note)
        return next(offer.turns for offer in offered.offers if offer.name == strategy)


def _older_turns(transcript: Transcript, decision: Decision) -> Iterator[_OlderTurn]:
    """Yield every turn that some policy may send, oldest first."""
    sendable = {entry.seq for entry in selectable_entries(transcript)}
    sent_runs = [(run.first, run.last) for run in decision.layout if isinstance(run, StoredRun)]
    entries = [entry for entry in transcript.entries if entry.message.role != "system"]
    for turn in split_turns(entries)[:-1]:
        usable = [entry for entry in turn.entries if entry.seq in sendable]
        if usable:
            first = turn.entries[0].seq
            in_a_run = any(low <= e.seq <= high for e in usable for low, high in sent_runs)
            yield _OlderTurn(
                first=first,
                tokens=sum(tokens_of(e.message) for e in usable),
                spared=is_pinned(turn),
                messages=len(turn.entries),
                sent=in_a_run or first in decision.unloads,
            )


def _offer(name: str, older: list[_OlderTurn], *, low_water: int, room: int) -> CleanupOffer:
    sent = [turn for turn in older if turn.sent]
    by_strategy = unload(name, sent, room=room, low_water=low_water)
    last = max(by_strategy, default=0)
    unloaded = [
        turn
        for turn in older
        if turn.first in by_strategy or (not turn.sent and turn.first < last and not turn.spared)
    ]
    freed = sum(turn.tokens for turn in unloaded if turn.sent)
    return CleanupOffer(
        name=name,
        words=say(STRATEGIES[name].words),
        turns=tuple(turn.first for turn in unloaded),
        messages=sum(turn.messages for turn in unloaded),
        tokens=freed,
        enough=sum(turn.tokens for turn in sent) - freed <= room,
    )
