"""Which turns a cleanup of the cache unloads: five strategies, all of them over whole turns.

The head and the current turn always stay, so strategies don't get them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Protocol

from chatsite.wording import later


class CleanableTurn(Protocol):
    """An older turn: its first message's sequence number, its tokens, and whether a mark of the
    user (pin, reply) spares it."""

    @property
    def first(self) -> int: ...
    @property
    def tokens(self) -> int: ...
    @property
    def spared(self) -> bool: ...


@dataclass(frozen=True, slots=True)
class OlderTurn:
    """An older turn, as a value."""

    first: int
    tokens: int
    spared: bool


# From the turns, oldest first, and how many tokens those may keep that no mark spares (one strategy
# uses it): the turns that stay.
Keeps = Callable[[Sequence[CleanableTurn], int], Sequence[CleanableTurn]]


@dataclass(frozen=True, slots=True, kw_only=True)
class CleanupStrategy:
    """`words` is the label of its button."""

    words: str
    keeps: Keeps


def _nothing(turns: Sequence[CleanableTurn], down_to: int) -> Sequence[CleanableTurn]:
    return ()


def _newer_half(turns: Sequence[CleanableTurn], down_to: int) -> Sequence[CleanableTurn]:
    """At most half of all tokens: a turn across the middle is unloaded. The newest turn stays
    whatever its size, or nothing might."""
    half = sum(turn.tokens for turn in turns) // 2
    return _newest(turns, half) or turns[-1:]


def _first(turns: Sequence[CleanableTurn], down_to: int) -> Sequence[CleanableTurn]:
    return turns[:1]


def _last(turns: Sequence[CleanableTurn], down_to: int) -> Sequence[CleanableTurn]:
    return turns[-1:]


def _newer_share(turns: Sequence[CleanableTurn], down_to: int) -> Sequence[CleanableTurn]:
    """The newest, and two of them whatever their size: a message often refers to these. Spared
    turns stay wherever they are."""
    loose = [turn for turn in turns if not turn.spared]
    return loose[-max(2, len(_newest(loose, down_to))) :]


def _newest(turns: Sequence[CleanableTurn], most: int) -> Sequence[CleanableTurn]:
    """As many of the newest turns, without a gap, as fit into `most` tokens."""
    start, left = len(turns), most
    while start and turns[start - 1].tokens <= left:
        start -= 1
        left -= turns[start].tokens
    return turns[start:]


STRATEGIES: Mapping[str, CleanupStrategy] = MappingProxyType(
    {
        "keepSystemPromptOnly": CleanupStrategy(
            words=later("Keep only the instructions"), keeps=_nothing
        ),
        "keepSystemPromptAndHalf": CleanupStrategy(
            words=later("Keep the newer half"), keeps=_newer_half
        ),
        "keepSystemPromptAndFirstUserMessage": CleanupStrategy(
            words=later("Keep the first turn"), keeps=_first
        ),
        "keepSystemPromptAndLastUserMessage": CleanupStrategy(
            words=later("Keep the last turn"), keeps=_last
        ),
        "removeOldestMessages": CleanupStrategy(
            words=later("Unload the oldest turns"), keeps=_newer_share
        ),
    }
)
DEFAULT = "removeOldestMessages"


def unload(
    strategy: str, turns: Sequence[CleanableTurn], *, room: int, low_water: int
) -> frozenset[int]:
    """The `first` of every turn to unload, of the older `turns`, oldest first.

    Spared turns are never unloaded. Under `removeOldestMessages` the others may keep `low_water`
    percent of what the spared ones leave of `room` tokens, as under the guard; the other strategies
    ignore both. Raises KeyError for an unknown strategy.
    """
    left = max(0, room - sum(turn.tokens for turn in turns if turn.spared))
    stay = {turn.first for turn in STRATEGIES[strategy].keeps(turns, left * low_water // 100)}
    return frozenset(t.first for t in turns if not t.spared and t.first not in stay)


def make_room(
    strategy: str, turns: Sequence[CleanableTurn], *, room: int, low_water: int
) -> frozenset[int]:
    """Like `unload`, until the turns fit into `room` tokens.

    Where the strategy keeps too much, the oldest turns that it kept are unloaded too, and spared
    turns, oldest first, only when no others are left.
    """
    gone = set(unload(strategy, turns, room=room, low_water=low_water))
    left = sum(turn.tokens for turn in turns if turn.first not in gone)
    for turn in sorted(turns, key=lambda turn: (turn.spared, turn.first)):
        if left <= room:
            break
        if turn.first not in gone:
            gone.add(turn.first)
            left -= turn.tokens
    return frozenset(gone)
