"""The active path of a conversation as a policy sees it, its turns, and how much of a Talk room is
read."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime

from chatsite.history.evidence import RunningSummary
from chatsite.messages import Message

# Sources of messages that a background task wrote, or asked for, and no person.
BACKGROUND = frozenset({"scheduled", "briefing"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """A stored message in its place. `seq` orders the path; the marks are the user's.

    `draft`: it isn't stored yet. That is what a person is writing and, before the first message,
    the greetings that will be stored with it.
    `unanswered`: of this user message the answer failed, with nothing of it stored.
    `forgets_above`: the marker "forget what is above" is directly above this message. `at` is the
    time at which it was stored; nothing is ordered by it. `quoted`, of a message that answers, are
    the sequence numbers of the older messages that were quoted before the question.
    `kept_whole`: its result, or the texts of its files, never give way. `in_force` are the
    instructions in it that are sent with every request, "" for none. `anchors` are exact values of
    a result for the line that stands for it, found when it was stored.
    `is_plain`: nothing but the policy decides about it, as about nearly every message.
    `may_give_way`: it is a result of a tool, or has files with text. Both are found once, when it
    is read: a decision on two hundred messages took a third longer.
    """

    message: Message
    seq: int
    pinned: bool = False
    excluded: bool = False
    unanswered: bool = False
    forgets_above: bool = False
    draft: bool = False
    at: datetime | None = None
    quoted: tuple[int, ...] = ()
    kept_whole: bool = False
    in_force: str = ""
    anchors: str = ""
    is_plain: bool = field(init=False, compare=False, repr=False)
    may_give_way: bool = field(init=False, compare=False, repr=False)

    def __post_init__(self) -> None:
        message = self.message
        plain = (
            not (self.pinned or self.excluded or self.unanswered)
            and message.source not in BACKGROUND
            and message.kv_status > 0
            and message.is_only_text
        )
        object.__setattr__(self, "is_plain", plain)
        with_text = message.attachments and any(file.characters for file in message.attachments)
        gives = not self.kept_whole and (message.role == "tool" or bool(with_text))
        object.__setattr__(self, "may_give_way", gives)


@dataclass(frozen=True, slots=True, kw_only=True)
class NotLoaded:
    """The part of the path that was not read from storage, above the loaded tail.

    Counts are messages, user messages (of them `background` ones, of scheduled tasks and
    briefings) and tokens; `first` and `last` are sequence numbers (0 when there is nothing). A
    policy's reach says what may be left in storage, and in a Talk room the limit of what is read
    (`over_talk_limit`).
    """

    messages: int = 0
    users: int = 0
    background: int = 0
    tokens: int = 0
    first: int = 0
    last: int = 0
    over_talk_limit: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Transcript:
    """Entries in path order, the last turn being the current one; plus what was not loaded.

    Whole turns are loaded: the tail that the policy reaches and, above it, marked turns and the
    turn that the current message replies to; also every system message, and the message below
    the marker "forget what is above". `compaction` is the summary that a person put in the place
    of older turns; those that it leaves in their places are loaded, too.
    """

    entries: tuple[Entry, ...]
    not_loaded: NotLoaded = NotLoaded()
    compaction: RunningSummary | None = None


@dataclass(frozen=True, slots=True)
class PathTurn:
    """A user message and all that answers it. `user` is None for messages before the first one."""

    entries: tuple[Entry, ...]

    @property
    def user(self) -> Entry | None:
        first = self.entries[0]
        return first if first.message.role == "user" else None

    @property
    def quoted(self) -> tuple[int, ...]:
        """The messages that were quoted before its user message, for the answer on this path."""
        return next((entry.quoted for entry in self.entries if entry.quoted), ())


def is_covered(turn: PathTurn, summary: RunningSummary | None) -> bool:
    """Whether a summary stands for the whole turn; what background tasks added to it since doesn't
    matter."""
    first = turn.entries[0].seq
    if summary is None or not summary.first <= first <= summary.last or first in summary.kept:
        return False
    return all(
        entry.seq <= summary.last or entry.message.source in BACKGROUND for entry in turn.entries
    )


def split_turns(entries: Sequence[Entry]) -> list[PathTurn]:
    """Split at every user message; what is before the first one is a turn without user."""
    found: list[PathTurn] = []
    start = 0
    for index, entry in enumerate(entries):
        if entry.message.role == "user" and index > start:
            found.append(PathTurn(tuple(entries[start:index])))
            start = index
    if start < len(entries):
        found.append(PathTurn(tuple(entries[start:])))
    return found


# ---- a Talk room: its newest messages, in whole turns ---------------------------------------
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
        or entry.in_force
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
