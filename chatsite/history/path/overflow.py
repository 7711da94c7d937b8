"""A path that exceeds the limit, and the two usual ways to make it fit."""

from __future__ import annotations

from dataclasses import dataclass, replace

from chatsite.history.evidence import Evidence, RunningSummary
from chatsite.history.path.added_messages import Quotes
from chatsite.history.path.cleaner import Cleaner, CleanupResult, clean_up
from chatsite.history.path.guard import GuardCut, TurnSize, guard
from chatsite.history.path.turn_verdicts import MARKS_FILL_IT, PathVerdict, TurnVerdict
from chatsite.history.reasons import Reason
from chatsite.messages import Message


@dataclass(frozen=True, slots=True, kw_only=True)
class FittedPath:
    """The path as it is sent. `cut` is where the tail begins, None when nothing was cut.

    `not_loaded_reason` is the reason for what was not read from storage; `cleanup` says what a
    cleanup unloaded. `summary` is a message made of `summary_source`. `quotes` stand before the
    current message, `earlier_quotes` before older ones, in path order.
    """

    verdict: PathVerdict
    not_loaded_reason: Reason
    quotes: Quotes
    cut: int | None = None
    summary: Message | None = None
    summary_source: RunningSummary | None = None
    earlier_quotes: tuple[Quotes, ...] = ()
    cleanup: CleanupResult | None = None
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Overflow:
    """A path that doesn't fit. Of `limit` tokens `fixed` are taken already: by the head, the
    current turn, quotes and a strategy's texts.

    `reason` is that of turns for which there is no room: the budget or the window.
    `last_not_loaded` is the last sequence number of turns that would be sent too, had they been
    loaded, None where there are none; `not_loaded_reason` is theirs while nothing is cut.
    `low_water` is a percentage of the room for history: of the limit less `fixed` and less the
    turns that marks spare. `previous_cut` is the cut of the last request under the same settings.
    `recall_share` is the percentage of the room that new quotes may take, None for the policy's
    own rule. `cleaner` is given where a cleanup may take the guard's place. `compacted`: a
    compaction is sent.
    """

    verdict: PathVerdict
    evidence: Evidence
    quotes: Quotes
    fixed: int
    limit: int
    low_water: int
    reason: Reason
    last_not_loaded: int | None
    not_loaded_reason: Reason
    previous_cut: int | None
    recall_share: int | None
    cleaner: Cleaner | None
    compacted: bool


def cut_oldest(overflow: Overflow) -> FittedPath:
    """Let the guard drop the oldest turns."""
    found = guard(
        [TurnSize(t.first, t.tokens, bool(t.kept_for)) for t in overflow.verdict.sent],
        fixed=overflow.fixed,
        current=overflow.verdict.current.first,
        limit=overflow.limit,
        low_water=overflow.low_water,
        previous=overflow.previous_cut,
        last_not_loaded=overflow.last_not_loaded,
    )
    is_cut = overflow.last_not_loaded is not None
    return FittedPath(
        verdict=after_guard(found, overflow.verdict, no_room=overflow.reason),
        not_loaded_reason="above_cut" if is_cut else overflow.not_loaded_reason,
        cut=found.cut,
        quotes=overflow.quotes,
    )


def clean_or_cut(overflow: Overflow) -> FittedPath:
    """Let a cleanup unload what the model's window has no room for, else the guard cut.

    For policies that say nothing of what fits. The others choose again for every message, and a
    cleanup would unload for good what they only pass over this time.
    """
    if overflow.cleaner is None or overflow.reason != "over_window":
        return cut_oldest(overflow)
    # The cut needn't be kept: what was unloaded has a status of its own from then on.
    verdict, result = clean_up(
        overflow.verdict,
        overflow.cleaner,
        room=overflow.limit - overflow.fixed,
        low_water=overflow.low_water,
        overflow_reason=overflow.reason,
    )
    return FittedPath(
        verdict=verdict,
        not_loaded_reason=overflow.not_loaded_reason,
        quotes=overflow.quotes,
        cleanup=result,
        notes=(result.sentence,) if result else (),
    )


def after_guard(
    found: GuardCut, verdict: PathVerdict, *, no_room: Reason, above: Reason = "above_cut"
) -> PathVerdict:
    """The verdict after the guard: `no_room` for what has none beside what is sent, `above` for
    the other turns above the cut. Turns above it that a mark saved say so.

    With another reason `above`, that is the one of every turn that no mark spares.
    """
    cut = found.cut
    if cut is None:
        return verdict
    marks_fill_it = any(turn.kept_for and turn.first in found.dropped for turn in verdict.sent)

    def after(turn: TurnVerdict) -> TurnVerdict:
        if turn.first not in found.dropped:
            if turn.is_sent and turn.kept_for and turn.first < cut:
                return replace(turn, reason=turn.kept_for, why="")
            return turn
        if above != "above_cut" and not turn.kept_for:
            return replace(turn, reason=above, why="")
        if turn.first in found.no_room:
            return replace(turn, reason=no_room, why="")
        return replace(turn, reason="above_cut", why=MARKS_FILL_IT if marks_fill_it else "")

    older = tuple(after(turn) for turn in verdict.older)
    return replace(verdict, older=older, tail=max(verdict.tail, cut))
