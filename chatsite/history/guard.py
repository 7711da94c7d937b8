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
) -> Overflow:
    """Choose what goes so that `fixed` and the rest stay within `limit` tokens.

    `fixed` is what always stays: head, system messages and the current turn, which begins at the
    sequence number `current`; at most `limit`. `low_water` is a percentage of the limit,
    `previous` the cut of the last request.
    """
    total = fixed + sum(load.tokens for load in loads)
    if total <= limit:
        return Overflow()
    loose = [load for load in loads if not load.spared]
    spared = [load for load in loads if load.spared]
    if previous is not None:
        before = [load for load in loose if load.first < previous]
        if total - sum(load.tokens for load in before) <= limit:
            return _overflow(before, previous)
    dropped, total = _drop(loose, total=total, down_to=limit * low_water // 100)
    cut = next((load.first for load in loose[len(dropped) :]), current)
    if total > limit:
        more, _ = _drop(spared, total=total, down_to=limit)
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
