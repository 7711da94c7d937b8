"""The guard: which turns are dropped when a request is larger than its limit.

Whole turns are dropped, oldest first, down to the low-water mark, and not just to the limit: a cut
that moves with every turn changes the prompt's beginning every time and defeats the provider's
cache (measured: seven times the cost). So the cut of the previous request stays while it fits.

Turns that are spared (pinned, replied to) are dropped only when everything else is dropped and the
limit itself is still exceeded; again oldest first.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class TurnSize:
    """A turn that would be sent: its first sequence number and its tokens."""

    first: int
    tokens: int
    spared: bool


@dataclass(frozen=True, slots=True)
class GuardCut:
    """The `first` of each dropped turn. `cut` is where the unbroken rest begins, None when
    everything fits."""

    dropped: frozenset[int] = frozenset()
    cut: int | None = None


def guard(
    sizes: Sequence[TurnSize],
    *,
    fixed: int,
    current: int,
    limit: int,
    low_water: int,
    previous: int | None = None,
    last_not_loaded: int | None = None,
    most: int | None = None,
) -> GuardCut:
    """Choose what is dropped so that `fixed` and the rest stay within `limit` tokens.

    `fixed` is what always stays: head, system messages and the current turn, which begins at the
    sequence number `current`; at most `limit`. `low_water` is a percentage of the limit,
    `previous` the cut of the last request. `last_not_loaded` is the last sequence number of turns
    that would be sent too, had they been loaded: they are above all others, and what was loaded
    exceeds the limit by itself. Nothing is dropped while all of it is within `most`, and nothing
    spared for less: `most` is the `limit` itself unless a larger one is given.
    """
    total = fixed + sum(size.tokens for size in sizes)
    most = limit if most is None else most
    if total <= most and last_not_loaded is None:
        return GuardCut()
    loose = [size for size in sizes if not size.spared]
    spared = [size for size in sizes if size.spared]
    if previous is not None and (last_not_loaded is None or previous > last_not_loaded):
        before = [size for size in loose if size.first < previous]
        if total - sum(size.tokens for size in before) <= limit:
            return _guard_cut(before, previous)
    # What is not loaded is left out even if counts that were made again say that it fits.
    dropped, total = _drop(loose, total=total, down_to=limit * low_water // 100)
    cut = next((size.first for size in loose[len(dropped) :]), current)
    if total > most:
        more, _ = _drop(spared, total=total, down_to=most)
        dropped += more
    return _guard_cut(dropped, cut)


def _drop(sizes: Sequence[TurnSize], *, total: int, down_to: int) -> tuple[list[TurnSize], int]:
    dropped: list[TurnSize] = []
    for size in sizes:
        if total <= down_to:
            break
        dropped.append(size)
        total -= size.tokens
    return dropped, total


def _guard_cut(dropped: Sequence[TurnSize], cut: int | None) -> GuardCut:
    return GuardCut(dropped=frozenset(size.first for size in dropped), cut=cut)
