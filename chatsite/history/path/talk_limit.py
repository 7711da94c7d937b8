"""How much of a Talk room is read: its newest messages, in whole turns."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from chatsite.history.path.transcript import BACKGROUND
from chatsite.history.path.transcript import Entry
from chatsite.history.path.transcript import NotLoaded
from chatsite.history.path.transcript import PathTurn
from chatsite.history.path.transcript import Transcript
from chatsite.history.path.transcript import split_turns


def within_talk_limit(transcript: Transcript, limit: int | None) -> Transcript:
    """The transcript with the newest `limit` messages of people and assistant alone; None is no
    limit, and the current turn always stays.

    What is older counts as not loaded, so that no policy chooses from it. Turns with a mark, and
    the turn that the current message replies to, stay.
    """
    if limit is None:
        return transcript
    turns = split_turns([e for e in transcript.entries if e.message.role != "system"])
    if len(turns) < 2:
        return transcript
    cut = _first_read(turns, limit)
    replied = turns[-1].entries[0].message.reply_to
    away = [
        entry
        for turn in turns
        if turn.entries[0].seq < cut and not _stands_out(turn, replied)
        for entry in turn.entries
    ]
    return _without(transcript, away, last=cut - 1) if away else transcript


def _first_read(turns: Sequence[PathTurn], limit: int) -> int:
    """The seq of the oldest turn that is read."""
    first, read = turns[-1].entries[0].seq, _spoken(turns[-1])
    for turn in reversed(turns[:-1]):
        read += _spoken(turn)
        if read > limit:
            break
        first = turn.entries[0].seq
    return first


def _spoken(turn: PathTurn) -> int:
    """Its messages of people and assistant: in the room, calls and their results are no message."""
    return sum(
        entry.message.role in ("user", "assistant")
        and not entry.message.calls
        and entry.message.source not in BACKGROUND
        for entry in turn.entries
    )


def _stands_out(turn: PathTurn, replied: str | None) -> bool:
    return any(
        entry.pinned
        or entry.excluded
        or entry.forgets_above
        or (replied is not None and entry.message.id == replied)
        for entry in turn.entries
    )


def _without(transcript: Transcript, away: Sequence[Entry], *, last: int) -> Transcript:
    before, gone = transcript.not_loaded, {entry.seq for entry in away}
    asked = [entry.message for entry in away if entry.message.role == "user"]
    not_loaded = NotLoaded(
        messages=before.messages + len(away),
        users=before.users + len(asked),
        background=before.background + sum(m.source in BACKGROUND for m in asked),
        tokens=before.tokens + sum(e.message.tokens.count for e in away if e.message.tokens),
        first=before.first or away[0].seq,
        last=last,
        over_talk_limit=True,
    )
    kept = tuple(entry for entry in transcript.entries if entry.seq not in gone)
    return replace(transcript, entries=kept, not_loaded=not_loaded)
