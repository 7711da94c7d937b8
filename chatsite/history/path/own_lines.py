"""Lines of our own between the messages: the day on which a turn begins, and what isn't shown.

Turns that two requests begin with have the same lines in both, wherever the cut is: a line depends
on its own turn and on the one that is sent before it.
"""

from __future__ import annotations

from collections.abc import Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, replace
from datetime import UTC, date

from chatsite.history.evidence import GAVE_WAY, AddedKind, AddedMessage
from chatsite.history.path.marks import PathTerms
from chatsite.history.path.transcript import NotLoaded
from chatsite.history.path.turn_verdicts import PathVerdict
from chatsite.history.reasons import NOT_SHOWN
from chatsite.history.token_estimate import estimate_message, tokens_of
from chatsite.messages import Message, TokenCount

_DAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
_MONTHS = (
    *("January", "February", "March", "April", "May", "June", "July", "August", "September"),
    *("October", "November", "December"),
)


@dataclass(frozen=True, slots=True)
class OwnLine:
    """A line as it is sent, and its item in the layout."""

    message: Message
    item: AddedMessage


def line_message(id: str, kind: AddedKind) -> Message:
    """The line of this id in a layout, whose text and tokens follow from it. Raises ValueError."""
    if kind == "date":
        before, _, day = id.partition(" ")
        message = Message.user(_day_in_words(date.fromisoformat(day)), id=f"date-{before}")
    else:
        message = Message.user(_in_words(*map(int, id.split())), id="told")
    count = TokenCount(count=estimate_message(message), tokenizer="estimate", basis="estimated")
    return replace(message, tokens=count)


def _day_in_words(day: date) -> str:
    return f"[{_DAYS[day.weekday()]}, {day.day} {_MONTHS[day.month - 1]} {day.year}]"


def _in_words(exchanges: int, results: int, recall: int) -> str:
    """`exchanges` is -1 where nobody knows how many there are."""
    said = []
    if exchanges == 1:
        said.append("1 earlier exchange of this conversation is not shown")
    elif exchanges:
        many = f"{exchanges:,} earlier" if exchanges > 0 else "Earlier"
        said.append(f"{many} exchanges of this conversation are not shown")
    if results:
        what = "1 result or file was" if results == 1 else f"{results:,} results or files were"
        said.append(f"{what} left out to make room")
    return f"[{', '.join(said)}.{' The tool `recall` finds them.' if recall else ''}]"


# Lines in order, each with the first seq of the turn that it stands before.
Placed = Sequence[tuple[int, OwnLine]]


def own_lines(
    verdict: PathVerdict,
    not_loaded: NotLoaded,
    terms: PathTerms,
    *,
    quoted: AbstractSet[int],
    recall: bool,
) -> Placed:
    """The lines that belong to this path, in order. `quoted` are messages that are sent as quotes,
    by sequence number; `recall`: the agent has the tool that finds what isn't sent."""
    found = date_lines(verdict) if terms.dates else []
    counts = _not_shown(verdict, not_loaded, quoted) if terms.tell else (0, 0)
    told = (verdict.current.first, _line("told", *counts, int(recall)))
    return [*found, told] if any(counts) else found


def date_lines(verdict: PathVerdict) -> list[tuple[int, OwnLine]]:
    """For each turn that begins another day, in UTC, than the one that is sent before it."""
    found: list[tuple[int, OwnLine]] = []
    last: date | None = None
    for turn in (*verdict.sent, verdict.current):
        at = turn.entries[0].at if turn.is_in_request else None
        if at is not None and (day := at.astimezone(UTC).date()) != last:
            found.append((turn.first, _line("date", turn.first, day)))
            last = day
    return found


def _line(kind: AddedKind, *values: object) -> OwnLine:
    id = " ".join(map(str, values))
    message = line_message(id, kind)
    return OwnLine(message, AddedMessage.of(message, kind, id=id))


def _not_shown(
    verdict: PathVerdict, not_loaded: NotLoaded, quoted: AbstractSet[int]
) -> tuple[int, int]:
    """How many exchanges a policy left out, -1 where nobody knows, and how many results gave way.
    What a person left out isn't counted."""
    gone = [turn for turn in verdict.older if turn.reason in NOT_SHOWN]
    exchanges = sum(quoted.isdisjoint(entry.seq for entry in turn.turn.entries) for turn in gone)
    if not_loaded.users and not_loaded.last >= verdict.marker:
        # Where the marker is among what wasn't loaded, part of that is above it.
        more = not_loaded.users - not_loaded.background
        exchanges = -1 if verdict.marker else exchanges + more
    turns = [turn for turn in (*verdict.older, verdict.current) if turn.lines and turn.is_sent]
    return exchanges, sum(list(turn.lines.values()).count(GAVE_WAY) for turn in turns)


def reserve_room(verdict: PathVerdict, lines: Placed, *, free: int) -> tuple[PathVerdict, int, int]:
    """The verdict whose older turns take the tokens of their lines, too, so that enough of them is
    left out; the tokens of the current turn's, at most `free`; and those of the line that a cut
    adds: the first turn below it always has one."""
    taken = {before: tokens_of(line.message) for before, line in lines}
    older = tuple(
        replace(turn, tokens=turn.tokens + taken[turn.first]) if turn.first in taken else turn
        for turn in verdict.older
    )
    of_current = min(free, taken.get(verdict.current.first, 0))
    return replace(verdict, older=older), of_current, max(taken.values(), default=0)


def within_room(lines: Placed, free: int) -> dict[int, list[OwnLine]]:
    """The last of these lines that `free` tokens have room for, by the turn they stand before."""
    found: dict[int, list[OwnLine]] = {}
    for before, line in reversed(lines):
        free -= tokens_of(line.message)
        if free < 0:
            break
        found.setdefault(before, []).insert(0, line)
    return found
