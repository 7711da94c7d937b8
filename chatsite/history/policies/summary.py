"""`summary`: a running summary, and the newest turns that it doesn't cover."""

from __future__ import annotations

from dataclasses import replace

from chatsite.history.evidence import RunningSummary
from chatsite.history.path.added_messages import summary_message
from chatsite.history.path.overflow import FittedPath, Overflow, cut_oldest
from chatsite.history.path.transcript import BACKGROUND
from chatsite.history.path.turn_verdicts import PathVerdict, TurnVerdict
from chatsite.history.policies.base import Policy, Tokens
from chatsite.history.policies.cuts import choose_every_turn
from chatsite.history.reasons import Reason
from chatsite.wording import later, say

ABOVE_SUMMARY = later("above the first message that the running summary holds")
NONE_YET = later("There is no summary yet: what doesn't fit is left out.")
FORGOTTEN = later("The summary holds what is to be forgotten: it isn't sent.")
NO_SUMMARY_ROOM = later("There is no room for the summary: it isn't sent.")


def cut_and_summarise(overflow: Overflow) -> FittedPath:
    """Replace all that the summary covers by it; the tail begins right after it."""
    if overflow.compacted:
        return cut_oldest(overflow)
    source, note = overflow.evidence.summary, ""
    if source is None:
        note = "" if overflow.evidence.notes else NONE_YET
    elif source.first < overflow.verdict.marker:
        note = FORGOTTEN
    elif overflow.fixed + source.tokens.count > overflow.limit:
        note = NO_SUMMARY_ROOM
    if source is None or note:
        return replace(cut_oldest(overflow), notes=(note,) if note else ())
    verdict, begins = _covered(overflow.verdict, source)
    last = overflow.last_not_loaded
    fitted = cut_oldest(
        replace(
            overflow,
            verdict=verdict,
            last_not_loaded=last if last is not None and last > source.last else None,
            fixed=overflow.fixed + source.tokens.count,
        )
    )
    return replace(
        fitted,
        cut=begins if fitted.cut is None else fitted.cut,
        summary=summary_message(source.text, source.tokens),
        summary_source=source,
    )


def _covered(verdict: PathVerdict, source: RunningSummary) -> tuple[PathVerdict, int]:
    """The verdict with `summarised` for each turn that is whole within the summary, and where the
    first turn below the summary begins.

    Pinned turns stay, and what was left out stays left out; a turn above the summary has no place
    in a tail that begins below it.
    """
    older: list[TurnVerdict] = []
    begins: int | None = None
    for turn in verdict.older:
        seqs = [e.seq for e in turn.turn.entries if e.message.source not in BACKGROUND]
        if begins is not None or (seqs and seqs[-1] > source.last):
            begins = begins or turn.first
        elif turn.kept_for and turn.is_sent:
            turn = replace(turn, reason=turn.kept_for)
        elif turn.is_sent and turn.first not in source.kept:
            covered = turn.first >= source.first
            reason: Reason = "summarised" if covered else "above_cut"
            turn = replace(turn, reason=reason, why="" if covered else ABOVE_SUMMARY)
        older.append(turn)
    begins = begins or verdict.current.first
    return replace(verdict, older=tuple(older), tail=max(verdict.tail, begins)), begins


SUMMARY = Policy(
    name="summary",
    title=later("Recent messages plus a summary"),
    about=later("Everything earlier is replaced by a running summary."),
    label="summary",
    words=lambda terms: say("recent messages plus a summary"),
    scope=lambda terms: say("the newest turns"),
    reach=lambda terms: Tokens(),
    choose=choose_every_turn(sent="within_budget"),
    beyond_reach="summarised",
    make_room=cut_and_summarise,
    evidence="summary",
    report_title=later("Summary"),
    uses_summary=True,
    gathers_on_overflow=True,
    own_settings=frozenset({"fold_at"}),
    needs_naming=True,
)
