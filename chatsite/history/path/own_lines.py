"""Lines of our own between the messages: the day on which a turn begins, and what isn't shown.

Turns that two requests begin with have the same lines in both: a line depends on its own turn and
on the one that is sent before it, wherever the cut is.
"""

from __future__ import annotations

from collections.abc import Mapping
from collections.abc import Set as AbstractSet
from dataclasses import replace
from datetime import UTC, date

from chatsite.history.evidence import BECAUSE_OF_ROOM
from chatsite.history.path.transcript import NotLoaded
from chatsite.history.path.turn_verdicts import PathVerdict
from chatsite.history.reasons import SENT
from chatsite.history.token_estimate import estimate_message, tokens_of
from chatsite.messages import Message, TokenCount

RECALL = "recall"  # The tool that finds what isn't sent.
# A turn that is left out for one of these isn't counted: a person wants it so, or nobody asked.
_UNSAID = {"excluded", "above_marker", "background"}
# By the seq of the turn's first message that they stand before, in order.
Lines = dict[int, list[Message]]


def own_line(id: str) -> Message:
    """The line of this id, from which its text follows: "date 7 2026-11-24" stands before message
    7; "told 14 2 1" says that 14 exchanges (-1: nobody knows how many) and 2 results aren't shown,
    and that there is the tool that finds them. Raises ValueError."""
    kind, *values = id.split()
    if kind == "date":
        day = date.fromisoformat(values[1])
        text = f"{day:%A}, {day.day} {day:%B %Y}"
    else:
        exchanges, results, recall = map(int, values)
        said = [f"earlier exchanges ({exchanges:,})".replace(" (-1)", "")] if exchanges else []
        said += [f"results and files that made room ({results:,})"] if results else []
        text = f"Not shown to you of this conversation: {', '.join(said)}."
        text += f" The tool `{RECALL}` finds them." if recall else ""
    message = Message.user(f"[{text}]", id=id)
    count = TokenCount(count=estimate_message(message), tokenizer="estimate", basis="estimated")
    return replace(message, tokens=count)


def date_lines(verdict: PathVerdict) -> Lines:
    """For each turn that begins another day, in UTC, than the one that is sent before it."""
    found: Lines = {}
    last: date | None = None
    for turn in (*verdict.sent, verdict.current):
        at = turn.entries[0].at if turn.is_in_request else None
        if at is not None and (day := at.astimezone(UTC).date()) != last:
            found[turn.first] = [own_line(f"date {turn.first} {day}")]
            last = day
    return found


def told_line(
    verdict: PathVerdict, not_loaded: NotLoaded, quoted: AbstractSet[int], *, recall: bool
) -> list[Message]:
    """What a policy or the limit left out and isn't `quoted`, in a line; none where all is sent."""
    gone = [turn for turn in verdict.older if turn.reason not in SENT | _UNSAID]
    exchanges = sum(quoted.isdisjoint(entry.seq for entry in turn.turn.entries) for turn in gone)
    if not_loaded.users and not_loaded.last >= verdict.marker:
        # Where the marker is among what wasn't loaded, part of that is above it.
        more = not_loaded.users - not_loaded.background
        exchanges = -1 if verdict.marker else exchanges + more
    turns = [turn for turn in (*verdict.older, verdict.current) if turn.lines and turn.is_sent]
    results = sum(why in BECAUSE_OF_ROOM for turn in turns for why in turn.lines.values())
    return [own_line(f"told {exchanges} {results} {recall:d}")] if exchanges or results else []


def reserve_room(verdict: PathVerdict, free: int) -> tuple[PathVerdict, int, int]:
    """The verdict whose older turns take the tokens of their date lines, too, so that enough of
    them is left out; the tokens of the current turn's, at most `free`; and those of one that a cut
    adds: the first turn below it always has one."""
    taken = {seq: tokens_of(line) for seq, [line] in date_lines(verdict).items()}
    older = [
        replace(one, tokens=one.tokens + taken[one.first]) if one.first in taken else one
        for one in verdict.older
    ]
    of_current = min(max(0, free), taken.get(verdict.current.first, 0))
    return replace(verdict, older=tuple(older)), of_current, max(taken.values(), default=0)


def within_room(lines: Mapping[int, list[Message]], free: int) -> Lines:
    """The last of these lines that `free` tokens have room for."""
    found: Lines = {}
    for before, line in reversed([(seq, one) for seq, own in lines.items() for one in own]):
        free -= tokens_of(line)
        if free < 0:
            break
        found.setdefault(before, []).insert(0, line)
    return found
