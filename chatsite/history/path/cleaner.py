"""A cleanup of the KV cache, which takes the guard's place.

What a cleanup unloads is left out until somebody brings it back; the guard chooses again for every
message.
"""

from __future__ import annotations

from collections.abc import Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, replace
from typing import Protocol

from chatsite.encoding import encode_fields
from chatsite.history.path.guard import TurnSize
from chatsite.history.path.turn_verdicts import (
    PathVerdict,
    TurnVerdict,
    below_unloaded,
    without_room,
)
from chatsite.history.reasons import Reason
from chatsite.wording import say_count


class MakesRoom(Protocol):
    """Says which turns to unload, by their `first`, so that the rest takes at most `room` tokens.

    `low_water` is a percentage of the room that spared turns leave. `sizes` are oldest first and
    take more than `room`.
    """

    def __call__(
        self, sizes: Sequence[TurnSize], *, room: int, low_water: int
    ) -> AbstractSet[int]: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Cleaner:
    """The strategy in force by its name, who set it, and what it does, in words."""

    strategy: str
    source: str
    words: str
    makes_room: MakesRoom


@dataclass(frozen=True, slots=True, kw_only=True)
class CleanupResult:
    """What one cleanup unloads: `turns` by the sequence numbers of their first messages."""

    strategy: str
    source: str
    words: str
    turns: tuple[int, ...]
    tokens: int

    @property
    def sentence(self) -> str:
        return say_count(
            "The context is full: 1 older turn is unloaded ({tokens} tokens; strategy: "
            "{strategy}), until you bring it back.",
            "The context is full: {count} older turns are unloaded ({tokens} tokens; strategy: "
            "{strategy}), until you bring them back.",
            len(self.turns),
            tokens=f"{self.tokens:,}",
            strategy=self.words[:1].lower() + self.words[1:],
        )

    def to_dict(self) -> dict[str, object]:
        """Without `words`: they are in the sentence that the receipt's notes hold."""
        return {name: told for name, told in encode_fields(self).items() if name != "words"}


def clean_up(
    verdict: PathVerdict, cleaner: Cleaner, *, room: int, low_water: int, overflow_reason: Reason
) -> tuple[PathVerdict, CleanupResult | None]:
    """The verdict after the cleanup, and what was unloaded; None where nothing was.

    A turn that a mark spares and that has no room is only left out of this request, for
    `overflow_reason`: the mark brings it in again as soon as there is room.
    """
    dropped = cleaner.makes_room(
        [TurnSize(turn.first, turn.tokens, bool(turn.kept_for)) for turn in verdict.sent],
        room=room,
        low_water=low_water,
    )
    unloaded = [turn for turn in verdict.sent if turn.first in dropped and not turn.kept_for]
    free = room - sum(turn.tokens for turn in verdict.sent if turn.first not in dropped)
    last = max((turn.first for turn in unloaded), default=0)

    def after(turn: TurnVerdict) -> TurnVerdict:
        if turn.first in dropped and not turn.kept_for:
            return replace(turn, reason="unloaded", why="")
        if turn.first in dropped:
            return without_room(turn, overflow_reason, free=free)
        if turn.is_sent and turn.kept_for and turn.first < last:
            return replace(turn, reason=turn.kept_for, why="")
        return turn

    older = tuple(after(turn) for turn in verdict.older)
    tail = max(verdict.tail, below_unloaded(older, verdict.current.first))
    cleaned = replace(verdict, older=older, tail=tail)
    if not unloaded:
        return cleaned, None
    return cleaned, CleanupResult(
        strategy=cleaner.strategy,
        source=cleaner.source,
        words=cleaner.words,
        turns=tuple(turn.first for turn in unloaded),
        tokens=sum(turn.tokens for turn in unloaded),
    )
