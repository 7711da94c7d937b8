"""The messages that a strategy may select: it never sees what the user took out."""

from __future__ import annotations

from collections.abc import Iterator
from collections.abc import Set as AbstractSet

from chatsite.history.values.marks import (
    background_answers,
    excluded_answers,
    holds_any,
    is_background,
    is_excluded,
    is_pinned,
    is_unanswered,
    is_unloaded,
    remembered_from,
)
from chatsite.history.values.normaliser import unsendable
from chatsite.history.values.transcript import Entry, Transcript, Turn, split_turns


def selectable_entries(
    transcript: Transcript, *, reply_to: AbstractSet[str] = frozenset()
) -> list[Entry]:
    """The messages before the current one that may be sent, in path order.

    Without greetings, what is above "forget what is above", what is excluded, what background
    tasks wrote, what a cleanup unloaded, messages whose answer failed, and what a provider would
    refuse. `reply_to` holds the ids of messages replied to: their turns are among them, as pinned
    turns are, whoever wrote them.
    """
    marker = remembered_from(transcript.entries)
    below = [entry for entry in transcript.entries if entry.seq >= marker]
    system = [entry for entry in below if entry.message.role == "system" and not entry.excluded]
    path = split_turns([entry for entry in below if entry.message.role != "system"])
    older = [turn for turn in path[:-1] if turn.user is not None]
    may = {entry.seq for turn in older for entry in _offered(turn, reply_to)}
    current = path[-1].entries[0].seq if path else 0
    may |= {entry.seq for entry in system if entry.seq < current}
    return [entry for entry in below if entry.seq in may]


def _offered(turn: Turn, reply_to: AbstractSet[str]) -> Iterator[Entry]:
    kept = is_pinned(turn) or holds_any(turn, reply_to)
    if is_excluded(turn):
        return
    if not kept and (is_background(turn) or is_unloaded(turn) or is_unanswered(turn)):
        return
    apart = excluded_answers(turn) | ({} if kept else background_answers(turn))
    rest = [entry for entry in turn.entries if entry.seq not in apart]
    lost = unsendable(rest)
    yield from (entry for entry in rest if entry.seq not in lost)
