"""Marks on messages: forget what is above, leave out, pin; replies and background tasks."""

from __future__ import annotations

from collections.abc import Sequence
from collections.abc import Set as AbstractSet

from chatsite.history.values.reasons import Reason
from chatsite.history.values.transcript import Entry, Turn

# Each of these is asked of every turn. They loop: `any` over a generator takes three times as long,
# which was a fifth of a decision on 200 messages.
BACKGROUND = frozenset({"scheduled", "briefing"})


def remembered_from(entries: Sequence[Entry]) -> int:
    """The sequence number from which things are remembered; 0 without a marker."""
    return max((entry.seq for entry in entries if entry.forgets_above), default=0)


def is_excluded(turn: Turn) -> bool:
    """Whether the whole turn is left out: its user message, or one of its tool calls, is.

    A result is left out with its call. An excluded answer is left out alone: `excluded_answers`.
    """
    for entry in turn.entries:
        if entry.excluded and not _is_answer(entry):
            return True
    return False


def excluded_answers(turn: Turn) -> dict[int, Reason]:
    return {entry.seq: "excluded" for entry in turn.entries if entry.excluded and _is_answer(entry)}


def is_unloaded(turn: Turn) -> bool:
    """Whether a cleanup of the KV cache took the turn out: one message of it is enough."""
    for entry in turn.entries:
        if entry.message.kv_status <= 0:
            return True
    return False


def is_unanswered(turn: Turn) -> bool:
    """Whether the answer to the turn's user message failed, with nothing of it stored.

    A background task's report below it is no answer; where there is another message, one of them
    was answered.
    """
    if not turn.entries[0].unanswered:
        return False
    return all(entry.message.source in BACKGROUND for entry in turn.entries[1:])


def is_pinned(turn: Turn) -> bool:
    for entry in turn.entries:
        if entry.pinned:
            return True
    return False


def holds_any(turn: Turn, ids: AbstractSet[str]) -> bool:
    """Whether one of these messages is in the turn."""
    return bool(ids) and any(entry.message.id in ids for entry in turn.entries)


def is_background(turn: Turn) -> bool:
    """Whether a scheduled task or a briefing asked, and not a person."""
    return turn.entries[0].message.source in BACKGROUND


def background_answers(turn: Turn) -> dict[int, Reason]:
    """The messages of background tasks in a person's turn, with the reason."""
    return {entry.seq: "background" for entry in turn.entries if entry.message.source in BACKGROUND}


def unanswered_notes(entries: Sequence[Entry]) -> list[Entry]:
    """What background tasks wrote since the last message of anybody else, oldest first.

    `entries` are those before the current message.
    """
    found: list[Entry] = []
    for entry in reversed(entries):
        if entry.message.source not in BACKGROUND:
            break
        found.append(entry)
    return found[::-1]


def _is_answer(entry: Entry) -> bool:
    return entry.message.role == "assistant" and not entry.message.calls
