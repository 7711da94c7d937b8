"""A cleanup of the KV cache in the guard's place: what it unloads stays out until somebody brings
it back, where the guard would choose anew for every message."""

from __future__ import annotations

from collections.abc import Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, replace
from typing import Protocol

from chatsite.history.path.guard import Load
from chatsite.history.path.turn_verdicts import Choice, Fate, below_unloaded
from chatsite.history.values.reasons import Reason


class MakesRoom(Protocol):
    """Says which turns go, by their `first`, so that the rest takes at most `room` tokens.

    `down_to` is the low-water mark. `loads` are oldest first and take more than their room.
    """

    def __call__(self, loads: Sequence[Load], *, room: int, down_to: int) -> AbstractSet[int]: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Cleaner:
    """The strategy in force by its name, who set it, and what it does, in words."""

    strategy: str
    source: str
    words: str
    makes_room: MakesRoom


@dataclass(frozen=True, slots=True, kw_only=True)
class Cleaned:
    """What one cleanup unloads: `turns` by the sequence numbers of their first messages."""

    strategy: str
    source: str
    words: str
    turns: tuple[int, ...]
    tokens: int

    @property
    def sentence(self) -> str:
        count = len(self.turns)
        what = "1 older turn is" if count == 1 else f"{count:,} older turns are"
        back = "it" if count == 1 else "them"
        return (
            f"The model's window is full: {what} unloaded ({self.tokens:,} tokens; strategy: "
            f"{self.words[:1].lower()}{self.words[1:]}), until you bring {back} back."
        )

    def to_dict(self) -> dict[str, object]:
        return {
            "strategy": self.strategy,
            "source": self.source,
            "turns": list(self.turns),
            "tokens": self.tokens,
        }


def clean(
    choice: Choice, cleanup: Cleaner, *, room: int, down_to: int, over: Reason
) -> tuple[Choice, Cleaned | None]:
    """The choice as the cleanup left it, and what it unloaded; None where nothing was.

    What a mark spares and has no room all the same is only left out of this request, for the reason
    `over`: the mark brings it in again as soon as there is room.
    """
    gone = cleanup.makes_room(
        [Load(fate.first, fate.tokens, bool(fate.kept_for)) for fate in choice.loads],
        room=room,
        down_to=down_to,
    )
    unloaded = [f for f in choice.loads if f.first in gone and not f.kept_for]
    last = max((fate.first for fate in unloaded), default=0)

    def fate(before: Fate) -> Fate:
        if before.first in gone:
            return replace(before, reason=over if before.kept_for else "unloaded", why="")
        if before.is_sent and before.kept_for and before.first < last:
            return replace(before, reason=before.kept_for, why="")
        return before

    older = tuple(fate(before) for before in choice.older)
    tail = max(choice.tail, below_unloaded(older, choice.current.first))
    after = replace(choice, older=older, tail=tail)
    if not unloaded:
        return after, None
    return after, Cleaned(
        strategy=cleanup.strategy,
        source=cleanup.source,
        words=cleanup.words,
        turns=tuple(fate.first for fate in unloaded),
        tokens=sum(fate.tokens for fate in unloaded),
    )
