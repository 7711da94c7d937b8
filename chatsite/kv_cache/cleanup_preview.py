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
from chatsite.errors import BadCommand, Refused
from chatsite.history import (
    Decision,
    Everything,
    PathTurn,
    StoredRun,
    Transcript,
    split_turns,
    tokens_of,
)
from chatsite.history.path.marks import is_pinned, selectable_entries
from chatsite.kv_cache.cleanup import STRATEGIES, Cleanup, OlderTurn, unknown_strategy, unload
from chatsite.turns.context.drafts import EMPTY, Drafts
from chatsite.turns.context.turn_context import PageRequest
from chatsite.wording import later, say

NO_CACHE = later("Not available for this model: {label} doesn't keep its cache on this machine.")
ALWAYS = ("system", "prefilled", "tools", "current")


@dataclass(frozen=True, slots=True, kw_only=True)
class CleanupOffer:
    """What one strategy would unload: `turns` by the sequence numbers of their first messages, how
    many `messages` they hold, and by how many `tokens` the next prompt gets shorter. `enough`:
    what stays fits the model's window."""

    name: str
    words: str
    turns: tuple[int, ...]
    messages: int
    tokens: int
    enough: bool

    def to_dict(self) -> dict[str, Any]:
        return {
            "name": self.name,
            "words": self.words,
            "turns": len(self.turns),
            "messages": self.messages,
            "tokens": self.tokens,
            "enough": self.enough,
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class CleanupOffers:
    """An offer for each strategy; none, and a `note` that says why, where there is no cache.
    `window` is the model's, in tokens."""

    note: str
    window: int
    cleanup: Cleanup
    offers: tuple[CleanupOffer, ...] = ()


@dataclass(frozen=True, slots=True)
class _Older:
    """A turn before the next message: what of it may be sent takes `tokens`. `goes_along`: the
    policy would send it."""

    turn: PathTurn
    tokens: int
    goes_along: bool

    @property
    def held(self) -> OlderTurn:
        return OlderTurn(self.turn.entries[0].seq, self.tokens, is_pinned(self.turn))


@dataclass(frozen=True, slots=True, kw_only=True)
class CleanupPreview:
    """Nothing is stored but token counts: what is to be unloaded is marked by the store."""

    drafts: Drafts

    async def offers(self, request: PageRequest) -> CleanupOffers:
        """The history settings of the query and the conversation count, as for the next message.
        Raises NotFound, or PromptTooLarge where not even an empty message has room."""
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
        older = await asyncio.to_thread(lambda: list(_older(loaded.transcript, decision)))
        fixed = sum(part.tokens for part in decision.parts if part.name in ALWAYS)
        low, room = context.settings.low_water.value, window.room - fixed
        return CleanupOffers(
            note="",
            window=window.size,
            cleanup=cleanup,
            offers=tuple(_offer(name, older, low_water=low, room=room) for name in STRATEGIES),
        )

    async def choose(self, request: PageRequest, strategy: str) -> tuple[int, ...]:
        """The turns that a strategy would unload, by their first messages. Raises BadCommand for
        one that there isn't, Refused where there is no cache, and what `offers` does."""
        if problem := unknown_strategy(strategy):
            raise BadCommand(problem)
        found = await self.offers(request)
        if found.note:
            raise Refused(found.note)
        return next(offer.turns for offer in found.offers if offer.name == strategy)


def _older(transcript: Transcript, decision: Decision) -> Iterator[_Older]:
    """Every turn that may be sent at all, oldest first: with a policy or another."""
    may = {entry.seq for entry in selectable_entries(transcript)}
    along = [(run.first, run.last) for run in decision.layout if isinstance(run, StoredRun)]
    said = [entry for entry in transcript.entries if entry.message.role != "system"]
    for turn in split_turns(said)[:-1]:
        usable = [entry for entry in turn.entries if entry.seq in may]
        if usable:
            sent = any(first <= e.seq <= last for e in usable for first, last in along)
            goes_along = sent or turn.entries[0].seq in decision.unloads
            yield _Older(turn, sum(tokens_of(e.message) for e in usable), goes_along)


def _offer(name: str, older: list[_Older], *, low_water: int, room: int) -> CleanupOffer:
    along = [one for one in older if one.goes_along]
    gone = unload(name, [one.held for one in along], room=room, low_water=low_water)
    last = max(gone, default=0)
    goes = [
        one
        for one in older
        if one.held.first in gone
        or (not one.goes_along and one.held.first < last and not one.held.spared)
    ]
    freed = sum(one.tokens for one in goes if one.goes_along)
    return CleanupOffer(
        name=name,
        words=say(STRATEGIES[name].words),
        turns=tuple(one.held.first for one in goes),
        messages=sum(len(one.turn.entries) for one in goes),
        tokens=freed,
        enough=sum(one.tokens for one in along) - freed <= room,
    )
