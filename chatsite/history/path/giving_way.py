"""What gives way first: results of tools and texts of files, before talk does.

Where a request is larger than its limit, or than the share of it that the settings allow, the
oldest become one line each, down to the low-water mark: in one step, so that the prompt's beginning
stays the same until the next one. A call keeps its result, whose text is the line.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, replace

from chatsite.history.evidence import (
    BECAUSE_OF_ROOM,
    GAVE_WAY,
    GAVE_WAY_WITH_VALUES,
    Previous,
    StoredRun,
)
from chatsite.history.path.marks import PathTerms
from chatsite.history.path.shortened import line_for
from chatsite.history.path.transcript import Entry
from chatsite.history.path.turn_verdicts import PathVerdict, TurnVerdict
from chatsite.history.room import known_tokens

# A line takes some 30 tokens: what has fewer than this frees nothing worth a change.
LEAST_RESULT = 60
# Percent of the room that the newest results may keep: with all of it, each new result would make
# the one before it give way, and the beginning would change at every message.
KEPT_SHARE = 50


@dataclass(frozen=True, slots=True, kw_only=True)
class RoomForTurns:
    """What the turns have room for. `fixed` is taken by all but the turns and the current message;
    `limit` is that of the request. Of the room, the older turns may take `share` percent once the
    path was cut at `cut`, the seq from which turns were sent before."""

    fixed: int
    limit: int
    low_water: int
    cut: int | None = None
    share: int = 100


def gave_way_before(previous: Previous | None, *, room: int) -> frozenset[int]:
    """What gave way in the request before, by sequence number; nothing where results have more
    `room` now, in tokens of a request: then it comes back as far as it fits."""
    if previous is None or room > previous.room:
        return frozenset()
    runs = (item for item in previous.layout if isinstance(item, StoredRun))
    return frozenset(run.first for run in runs if run.shortened in BECAUSE_OF_ROOM)


def give_way(
    verdict: PathVerdict,
    room: RoomForTurns,
    *,
    terms: PathTerms,
    before: Collection[int],
    more: bool,
    values: bool,
) -> PathVerdict:
    """The path with the lines for what gives way. `before` gave way in the request before, and
    stays so. `more`: turns that would be sent, too, aren't loaded. `values`: exact values of a
    result stand in its line."""
    found = _candidates(verdict, cut=room.cut, values=values)
    if not found:
        return verdict
    tail = [t for t in verdict.sent if t.kept_for or t.first >= (room.cut or 0)]
    spared = sum(turn.tokens for turn in tail if turn.kept_for)
    of_current = sum(one.freed for one in found if one.turn == verdict.current.first)
    always = room.fixed + spared + verdict.current.tokens - of_current
    loose = sum(turn.tokens for turn in tail if not turn.kept_for) + of_current
    most = room.limit * terms.give_way_at // 100 - always
    kept = most * KEPT_SHARE // 100  # the same after a cut, so that the same path changes nothing
    if room.cut is not None:
        most = min(most, (room.limit - always) * room.share // 100)
    low = most * room.low_water // 100
    gone = [one for one in found if one.seq in before]
    loose -= sum(one.freed for one in gone)
    if loose > most or (more and room.cut is None):
        sizes = [one.freed for one in found]
        may = beside_newest(sizes, terms.keep_results, tokens=kept)
        new = _oldest([one for one in found[:may] if one.seq not in before], loose - low)
        alone_too_large = room.fixed + spared + verdict.current.tokens > room.limit
        if alone_too_large or sum(one.freed for one in new) >= terms.least_freed:
            gone += new
    return put_in_lines(verdict, gone)


def smallest_current(turn: TurnVerdict, terms: PathTerms, *, values: bool) -> TurnVerdict:
    """The current turn with a line for each result that may give way."""
    alone = PathVerdict(older=(), current=turn, marker=0, tail=0, reached=False)
    found = _candidates(alone, cut=None, values=values)
    return put_in_lines(alone, found[: len(found) - min(1, terms.keep_results)]).current


@dataclass(frozen=True, slots=True)
class _Candidate:
    """A message that may give way, `turn` by its first seq; `freed` tokens are what that saves.
    `why` as in `TurnVerdict.lines`."""

    seq: int
    turn: int
    why: int
    line: Entry
    freed: int


def _candidates(verdict: PathVerdict, *, cut: int | None, values: bool) -> list[_Candidate]:
    """Oldest first, without what is marked and what the model has yet to read: the results since
    its last message, and the current message's files."""
    found: list[_Candidate] = []
    unread, asked = _unread(verdict.current), verdict.current.first
    for turn in (*verdict.sent, verdict.current):
        if turn.kept_for or (turn is not verdict.current and turn.first < (cut or 0)):
            continue
        names: dict[str, str] = {}
        for entry in turn.entries:
            names.update((call.id, call.name) for call in entry.message.calls)
            if not entry.may_give_way or entry.seq in turn.lines or entry.seq >= unread:
                continue
            if known_tokens(entry.message).count < LEAST_RESULT or entry.seq == asked:
                continue
            why = GAVE_WAY_WITH_VALUES if values and entry.anchors else GAVE_WAY
            line = line_for(entry, why, tool=names.get(entry.message.call_id or "", ""))
            freed = known_tokens(entry.message).count - known_tokens(line.message).count
            if freed > 0:  # a short file has a line that is as long
                found.append(_Candidate(entry.seq, turn.first, why, line, freed))
    return found


def _unread(current: TurnVerdict) -> int:
    """The seq of the last message that calls tools in the current turn: what follows it wasn't
    read by the model."""
    return max((entry.seq for entry in current.entries if entry.message.calls), default=1 << 62)


def beside_newest(sizes: Sequence[int], newest: int, *, tokens: int) -> int:
    """How many of these, oldest first, may give way: not so many of the newest, as far as these
    take no more tokens; one stays in any case."""
    kept = 0
    while kept < min(newest, len(sizes)):
        tokens -= sizes[-kept - 1]
        if kept and tokens < 0:
            break
        kept += 1
    return len(sizes) - kept


def _oldest(candidates: Sequence[_Candidate], tokens: int) -> list[_Candidate]:
    """The oldest ones that free so many tokens together, or all of them."""
    found: list[_Candidate] = []
    for one in candidates:
        if tokens <= 0:
            break
        found.append(one)
        tokens -= one.freed
    return found


def put_in_lines(verdict: PathVerdict, gone: Sequence[_Candidate]) -> PathVerdict:
    """The path with these lines in place of what gives way."""
    if not gone:
        return verdict
    by_turn: dict[int, list[_Candidate]] = {}
    for one in gone:
        by_turn.setdefault(one.turn, []).append(one)
    older = tuple(_put_lines(turn, by_turn.get(turn.first, ())) for turn in verdict.older)
    current = _put_lines(verdict.current, by_turn.get(verdict.current.first, ()))
    return replace(verdict, older=older, current=current)


def _put_lines(turn: TurnVerdict, gone: Iterable[_Candidate]) -> TurnVerdict:
    lines = {one.seq: one for one in gone}
    if not lines:
        return turn
    return replace(
        turn,
        entries=tuple(lines[e.seq].line if e.seq in lines else e for e in turn.entries),
        lines=turn.lines | {seq: one.why for seq, one in lines.items()},
        tokens=turn.tokens - sum(one.freed for one in lines.values()),
    )
