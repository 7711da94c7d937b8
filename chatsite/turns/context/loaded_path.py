"""How much of a path is read: as storage would have read it long ago, and more of it on demand."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace

from chatsite.history import (
    BACKGROUND,
    Entry,
    NotLoaded,
    Reach,
    RunningSummary,
    Transcript,
    Users,
    split_turns,
)


def as_storage_loads(
    entries: Sequence[Entry], wanted: Reach, compaction: RunningSummary | None = None
) -> Transcript:
    """The part of a path that `conversations.path.loading` would read; its last entry is current.

    Only where a number of turns is wanted: by tokens as much is sent of the whole path.
    """
    cut = _first_wanted(entries, wanted.users) if isinstance(wanted, Users) else 0
    above = [entry for entry in entries if entry.seq < cut]
    kept = compaction.kept if compaction else ()
    wanted_too = _wanted_above(above, reply_to=entries[-1].message.reply_to, kept=kept)
    away = [entry for entry in above if entry.seq not in wanted_too]
    if not away:
        return Transcript(entries=tuple(entries), compaction=compaction)
    asked = [entry.message for entry in away if entry.message.role == "user"]
    return Transcript(
        entries=tuple(e for e in entries if e.seq >= cut or e.seq in wanted_too),
        not_loaded=NotLoaded(
            messages=len(away),
            users=len(asked),
            background=sum(message.source in BACKGROUND for message in asked),
            tokens=sum(entry.message.tokens.count for entry in away if entry.message.tokens),
            first=1,
            last=cut - 1,
        ),
        compaction=compaction,
    )


def _first_wanted(entries: Sequence[Entry], users: int) -> int:
    """The seq from which all is wanted, 0 for the whole path."""
    asked = [
        entry.seq
        for entry in entries
        if entry.message.role == "user" and entry.message.source not in BACKGROUND
    ]
    users = max(users, 1)
    if len(asked) < users:
        return 0
    cut = asked[-users]
    above = [entry for entry in entries if entry.seq < cut]
    if users > 1 or not above or above[-1].message.source not in BACKGROUND:
        return cut
    # What background tasks wrote directly before the message comes with the turn they follow.
    said = next((e.seq for e in reversed(above) if e.message.source not in BACKGROUND), 0)
    return max(
        (turn.entries[0].seq for turn in split_turns(above) if turn.entries[0].seq <= said),
        default=0,
    )


def _wanted_above(
    above: Sequence[Entry], *, reply_to: str | None, kept: Collection[int]
) -> set[int]:
    """Whole turns with a mark, with the marker, or with what is replied to; and those `kept`."""
    found: set[int] = set()
    for turn in split_turns([entry for entry in above if entry.message.role != "system"]):
        if turn.entries[0].seq in kept or any(
            _stands_out(entry, reply_to) for entry in turn.entries
        ):
            found.update(entry.seq for entry in turn.entries)
    return found


def _stands_out(entry: Entry, reply_to: str | None) -> bool:
    marked = entry.pinned or entry.excluded or entry.forgets_above or bool(entry.in_force)
    return marked or (reply_to is not None and entry.message.id == reply_to)


def with_entries(transcript: Transcript, entries: Sequence[Entry]) -> Transcript:
    """With entries of what was not loaded; that part shrinks by them, also at its end."""
    away = transcript.not_loaded
    loaded, last = {entry.seq for entry in entries}, away.last
    while last in loaded:
        last -= 1
    asked = [entry.message for entry in entries if entry.message.role == "user"]
    tokens = sum(entry.message.tokens.count for entry in entries if entry.message.tokens)
    return replace(
        transcript,
        entries=tuple(sorted((*transcript.entries, *entries), key=lambda entry: entry.seq)),
        not_loaded=replace(
            away,
            messages=max(0, away.messages - len(entries)),
            users=max(0, away.users - len(asked)),
            background=max(0, away.background - sum(m.source in BACKGROUND for m in asked)),
            tokens=max(0, away.tokens - tokens),
            last=last,
        ),
    )
