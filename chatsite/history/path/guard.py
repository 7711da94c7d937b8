"""The guard: which turns are dropped when a request is larger than its limit.

Turns have a claim in this order: those that are spared (pinned, replied to), then the turn directly
before the current message, then the one before it, and so on. Whole turns are dropped, oldest
first, down to the low-water mark, and not just to the limit: a cut that moves with every turn
changes the prompt's beginning every time and defeats the provider's cache (measured: seven times
the cost). So the cut of the previous request stays while it fits.

The low-water mark is a share of the room that is left for history: of the limit less what is
always sent and less the spared turns. Of the whole limit it was a share that head and pins could
use up alone, and then the last answer was dropped beside free tokens. For the same reason a cut
always leaves the newest two turns where they fit.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import takewhile

# "Make it shorter" needs the answer before it, and often the one before that.
FLOOR = 2


@dataclass(frozen=True, slots=True)
class TurnSize:
    """A turn that would be sent: its first sequence number, its tokens, and whether a mark of the
    user (pin, reply) spares it."""

    first: int
    tokens: int
    spared: bool


@dataclass(frozen=True, slots=True)
class GuardCut:
    """The `first` of each dropped turn. `cut` is where the unbroken rest begins, None when
    everything fits. For the dropped turns in `no_room` there is none beside what is sent; the
    others went with them, or to get down to the low-water mark."""

    dropped: frozenset[int] = frozenset()
    cut: int | None = None
    no_room: frozenset[int] = frozenset()

    @classmethod
    def of(cls, dropped: Sequence[TurnSize], *, cut: int, free: int) -> GuardCut:
        """`free` is how many tokens are left beside what is sent.

        Of the turns that no mark spares only the newest dropped ones are looked at, up to one that
        would fit: the others are above that one, and a verdict a turn would make long receipts.
        """
        loose = [size for size in dropped if not size.spared]
        newest = list(takewhile(lambda size: size.tokens > free, reversed(loose)))
        spared = [size for size in dropped if size.spared and size.tokens > free]
        return cls(dropped=_firsts(dropped), cut=cut, no_room=_firsts([*newest, *spared]))


def guard(
    sizes: Sequence[TurnSize],
    *,
    fixed: int,
    current: int,
    limit: int,
    low_water: int,
    previous: int | None = None,
    last_not_loaded: int | None = None,
) -> GuardCut:
    """Choose what is dropped so that `fixed` and the rest stay within `limit` tokens.

    `fixed` is what always stays: head, system messages and the current turn, which begins at the
    sequence number `current`; at most `limit`. `low_water` is a percentage of the room for
    history, `previous` the cut of the last request. `last_not_loaded` is the last sequence number
    of turns that would be sent too, had they been loaded: they are above all others, and what was
    loaded exceeds the limit by itself.
    """
    loose = [size for size in sizes if not size.spared]
    spared = [size for size in sizes if size.spared]
    always = fixed + _tokens(spared)
    # What is not loaded is left out even if counts that were made again say that it fits.
    if always + _tokens(loose) <= limit and last_not_loaded is None:
        return GuardCut()
    if always > limit:
        count = _dropped_down_to(spared, limit - fixed)
        free = limit - fixed - _tokens(spared[count:])
        return GuardCut.of([*loose, *spared[:count]], cut=current, free=free)
    room = limit - always
    low = room * low_water // 100
    most_dropped = max(_dropped_down_to(loose, room), len(loose) - FLOOR)
    dropped = min(_dropped_down_to(loose, low), most_dropped)
    cut = loose[dropped].first if dropped < len(loose) else current
    if previous is not None and (last_not_loaded or 0) < previous <= current:
        before = sum(size.first < previous for size in loose)
        kept = min(before, most_dropped)
        if _still_holds(loose, kept, room=room, low=low):
            dropped = kept
            cut = previous if kept == before else loose[kept].first
    return GuardCut.of(loose[:dropped], cut=cut, free=room - _tokens(loose[dropped:]))


def _still_holds(loose: Sequence[TurnSize], dropped: int, *, room: int, low: int) -> bool:
    """Whether a former cut is one that might be made now: what it leaves fits, and one more turn
    would exceed the low-water mark. Room that was gained since (by a larger window, a pin taken
    away, a shorter message) would otherwise stay empty for as long as the cut stays."""
    left = _tokens(loose[dropped:])
    return left <= room and (dropped == 0 or left + loose[dropped - 1].tokens > low)


def _dropped_down_to(sizes: Sequence[TurnSize], most: int) -> int:
    """How many turns, oldest first, have to go so that the others take at most `most` tokens."""
    left = _tokens(sizes)
    for count, size in enumerate(sizes):
        if left <= most:
            return count
        left -= size.tokens
    return len(sizes)


def _tokens(sizes: Sequence[TurnSize]) -> int:
    return sum(size.tokens for size in sizes)


def _firsts(sizes: Sequence[TurnSize]) -> frozenset[int]:
    return frozenset(size.first for size in sizes)
