"""The guard: what goes when a request is larger than its limit.

Whole turns go, oldest first, down to the low-water mark, and not just to the limit: a cut that
moves with every turn changes the prompt's beginning every time and defeats the provider's cache
(measured: seven times the cost). So the cut of the previous request stays while it still fits.

Turns that are spared (pinned, replied to) go only when everything else is gone and the limit
itself is still exceeded; again oldest first.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Load:
    """A turn that would be sent: its first sequence number and its tokens."""

    first: int
    tokens: int
    spared: bool


@dataclass(frozen=True, slots=True)
class Away:
    """What would be sent too, had it been read from storage: it lies above every loose turn, and
    what was read exceeds the limit by itself. `last` is its last sequence number."""

    last: int
    tokens: int


@dataclass(frozen=True, slots=True)
class Overflow:
    """What goes: the `first` of each dropped turn. `cut` is where the unbroken rest begins.

    `cut` is None when everything fits.
    """

    dropped: frozenset[int] = frozenset()
    cut: int | None = None


def guard(
    loads: Sequence[Load],
    *,
    fixed: int,
    current: int,
    limit: int,
    low_water: int,
    previous: int | None = None,
    away: Away | None = None,
    most: int | None = None,
) -> Overflow:
    """Choose what goes so that `fixed` and the rest stay within `limit` tokens.

    `fixed` is what always stays: head, system messages and the current turn, which begins at the
    sequence number `current`; at most `limit`. `low_water` is a percentage of the limit,
    `previous` the cut of the last request. Nothing goes while all of it is within `most`, and
    nothing spared for less: the `limit` itself unless a larger one is given.
    """
    total = fixed + sum(load.tokens for load in loads)
    most = limit if most is None else most
    if total <= most and away is None:
        return Overflow()
    loose = [load for load in loads if not load.spared]
    spared = [load for load in loads if load.spared]
    if previous is not None and (away is None or previous > away.last):
        before = [load for load in loose if load.first < previous]
        if total - sum(load.tokens for load in before) <= limit:
            return _overflow(before, previous)
    # What is away goes first, and it goes even if counts that were made anew say that it fits.
    dropped, total = _drop(loose, total=total, down_to=limit * low_water // 100)
    cut = next((load.first for load in loose[len(dropped) :]), current)
    if total > most:
        more, _ = _drop(spared, total=total, down_to=most)
        dropped += more
    return _overflow(dropped, cut)


def _drop(loads: Sequence[Load], *, total: int, down_to: int) -> tuple[list[Load], int]:
    dropped: list[Load] = []
    for load in loads:
        if total <= down_to:
            break
        dropped.append(load)
        total -= load.tokens
    return dropped, total


def _overflow(dropped: Sequence[Load], cut: int | None) -> Overflow:
    return Overflow(dropped=frozenset(load.first for load in dropped), cut=cut)
