"""The turns of a path, and which of their messages may be sent: marks, whole groups of tool calls,
and the settings that act under every policy."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass

from chatsite.history.evidence import LEFT_OUT, RunningSummary
from chatsite.history.path.shortened import as_sent
from chatsite.history.path.transcript import (
    BACKGROUND,
    Entry,
    PathTurn,
    Transcript,
    is_covered,
    split_turns,
)
from chatsite.history.reasons import Reason
from chatsite.messages import Message


# ---- marks: forget what is above, leave out, pin; replies and background tasks ---------------
# Each of these is asked of every turn. They loop: `any` over a generator takes three times as long,
# which was a fifth of a decision on 200 messages.
def is_plain(turn: PathTurn) -> bool:
    """Whether it holds no mark, no tool call, no empty message and nothing of a task's."""
    for entry in turn.entries:
        if not entry.is_plain:
            return False
    return True


def remembered_from(entries: Sequence[Entry]) -> int:
    """The sequence number from which things are remembered; 0 without a marker."""
    return max((entry.seq for entry in entries if entry.forgets_above), default=0)


def kept_in_force(entries: Sequence[Entry], marker: int) -> tuple[Entry, ...]:
    """Those with instructions in force, in path order; none that is left out, or above the marker
    "forget what is above"."""
    kept = [entry for entry in entries if entry.in_force and not entry.excluded]
    return tuple([entry for entry in kept if entry.seq >= marker])


def is_excluded(turn: PathTurn) -> bool:
    """Whether the whole turn is left out: its user message, or one of its tool calls, is.

    An excluded answer is left out alone (`excluded_answers`), an excluded result becomes a line.
    """
    for entry in turn.entries:
        if entry.excluded and not _is_answer(entry) and entry.message.role != "tool":
            return True
    return False


def results_left_out(entries: Sequence[Entry]) -> list[int]:
    """The results of tools that a person left out, by seq: the call stays, with a line for it."""
    return [entry.seq for entry in entries if entry.excluded and entry.message.role == "tool"]


def with_results_left_out(entries: Sequence[Entry]) -> tuple[Entry, ...]:
    """The entries with a line for each of these results."""
    gone = set(results_left_out(entries))
    return tuple(
        as_sent(entries, place, LEFT_OUT) if entry.seq in gone else entry
        for place, entry in enumerate(entries)
    )


def excluded_answers(turn: PathTurn) -> dict[int, Reason]:
    return {entry.seq: "excluded" for entry in turn.entries if entry.excluded and _is_answer(entry)}


def is_unloaded(turn: PathTurn) -> bool:
    """Whether a cleanup of the KV cache took the turn out: one message of it is enough."""
    for entry in turn.entries:
        if entry.message.kv_status <= 0:
            return True
    return False


def is_unanswered(turn: PathTurn) -> bool:
    """Whether the answer to the turn's user message failed, with nothing of it stored.

    A background task's report below it is no answer; where there is another message, one of them
    was answered.
    """
    if not turn.entries[0].unanswered:
        return False
    return all(entry.message.source in BACKGROUND for entry in turn.entries[1:])


def is_pinned(turn: PathTurn) -> bool:
    for entry in turn.entries:
        if entry.pinned:
            return True
    return False


def holds_any(turn: PathTurn, ids: AbstractSet[str]) -> bool:
    """Whether one of these messages is in the turn."""
    return bool(ids) and any(entry.message.id in ids for entry in turn.entries)


def is_background(turn: PathTurn) -> bool:
    """Whether a scheduled task or a briefing asked, and not a person."""
    return turn.entries[0].message.source in BACKGROUND


def background_answers(turn: PathTurn) -> dict[int, Reason]:
    """The messages of background tasks in a person's turn, with the reason."""
    return {entry.seq: "background" for entry in turn.entries if entry.message.source in BACKGROUND}


def unless_asked_for(turn: PathTurn) -> Reason | None:
    """Why the turn isn't sent unless it is pinned or replied to; None where it may be."""
    if is_background(turn):
        return "background"
    if is_unloaded(turn):
        return "unloaded"
    return "unanswered" if is_unanswered(turn) else None


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


# ---- no call without its results, no result without its call, no answer without text ---------
# Providers refuse a request that breaks one of these, and then every later request of the same
# conversation too. Groups never cross turns, so a turn is repaired by itself.
def unsendable(entries: Sequence[Entry]) -> dict[int, Reason]:
    """The sequence numbers of a turn's messages that can't be sent, with the reason.

    A call and the results that directly follow it are one group, whatever their order; the group
    is left out whole when one of them is missing. A second result for a call is left out alone.
    """
    found: dict[int, Reason] = {}
    if all(entry.message.is_only_text for entry in entries):
        # Nearly every turn; without this a long conversation takes half as long again.
        return found
    for group in _groups(entries):
        if is_empty_answer(group[0].message):
            found[group[0].seq] = "empty"
        found.update((entry.seq, "incomplete_tool_group") for entry in _lost(group))
    return found


def is_empty_answer(message: Message) -> bool:
    """Whether an answer has neither text nor calls nor files; reasoning doesn't count."""
    return (
        message.role == "assistant"
        and not message.calls
        and not message.attachments
        and not (message.content or "").strip()
    )


def _groups(entries: Sequence[Entry]) -> Iterator[Sequence[Entry]]:
    """A message that isn't a tool result, with the results that directly follow it."""
    start = 0
    for position in range(1, len(entries)):
        if entries[position].message.role != "tool":
            yield entries[start:position]
            start = position
    if entries:
        yield entries[start:]


def _lost(group: Sequence[Entry]) -> Sequence[Entry]:
    """The messages of a group that can't be sent: all of them, or only a second result."""
    first = group[0].message
    if first.role == "tool":
        return group
    missing = {call.id for call in first.calls}
    if len(missing) < len(first.calls) or "" in missing:
        return group
    extra = []
    for entry in group[1:]:
        if entry.message.call_id in missing:
            missing.remove(entry.message.call_id)
        else:
            extra.append(entry)
    return group if missing else extra


# ---- what a strategy may select: it never sees what the user took out ------------------------
def selectable_entries(
    transcript: Transcript, *, reply_to: AbstractSet[str] = frozenset()
) -> list[Entry]:
    """The messages before the current one that may be sent, in path order.

    Without greetings, what is above "forget what is above", what is excluded, what background
    tasks wrote, what a cleanup unloaded, messages whose answer failed, what a compaction stands
    for, and what a provider would refuse. `reply_to` holds the ids of messages replied to: their
    turns are among them, as pinned turns are, whoever wrote them.
    """
    marker = remembered_from(transcript.entries)
    below = [entry for entry in transcript.entries if entry.seq >= marker]
    system = [entry for entry in below if entry.message.role == "system" and not entry.excluded]
    path = split_turns([entry for entry in below if entry.message.role != "system"])
    older = [turn for turn in path[:-1] if turn.user is not None]
    summary = transcript.compaction
    may = {e.seq for turn in older for e in _offered(turn, reply_to, is_covered(turn, summary))}
    current = path[-1].entries[0].seq if path else 0
    may |= {entry.seq for entry in system if entry.seq < current}
    return [entry for entry in below if entry.seq in may]


def recallable(entries: Sequence[Entry], *, marker: int) -> Iterator[Entry]:
    """Of whole turns what a model may look at again, whatever a policy left out: nothing that a
    person left out, nothing above the marker, no greeting, nothing of a background task's."""
    for turn in split_turns([entry for entry in entries if entry.message.role != "system"]):
        asked = turn.user
        if asked and asked.seq >= marker and not (is_excluded(turn) or is_background(turn)):
            lost = background_answers(turn)
            yield from (e for e in turn.entries if not e.excluded and e.seq not in lost)


def _offered(turn: PathTurn, reply_to: AbstractSet[str], covered: bool) -> Iterator[Entry]:
    kept = is_pinned(turn) or holds_any(turn, reply_to)
    if is_excluded(turn):
        return
    if not kept and (covered or unless_asked_for(turn)):
        return
    apart = excluded_answers(turn) | ({} if kept else background_answers(turn))
    rest = with_results_left_out([e for e in turn.entries if e.seq not in apart])
    lost = unsendable(rest)
    yield from (entry for entry in rest if entry.seq not in lost)


# ---- the path, and what decides about it besides the policy ---------------------------------
@dataclass(frozen=True, slots=True)
class Path:
    """The loaded path: system messages, messages before the first user message, and turns."""

    system: tuple[Entry, ...]
    opening: tuple[Entry, ...]
    older: tuple[PathTurn, ...]
    current: PathTurn

    @classmethod
    def of(cls, transcript: Transcript) -> Path:
        """Raises ValueError when there is no current user message."""
        entries = transcript.entries
        found = split_turns([entry for entry in entries if entry.message.role != "system"])
        opening = found.pop(0).entries if found and found[0].user is None else ()
        if not found:
            raise ValueError("a transcript needs a user message: that of the current turn")
        return cls(
            system=tuple(entry for entry in entries if entry.message.role == "system"),
            opening=opening,
            older=tuple(found[:-1]),
            current=found[-1],
        )

    @property
    def counted(self) -> list[PathTurn]:
        """The turns that a length counts: not those of background tasks; the current one last."""
        return [turn for turn in self.older if not is_background(turn)] + [self.current]


@dataclass(frozen=True, slots=True, kw_only=True)
class PathTerms:
    """The settings that act on a path under every policy, as plain values."""

    previous_tasks_count: int = 3
    longest_answer: int | None = None
    give_way_at: int = 100
    keep_results: int = 2
    least_freed: int = 200
    tell: bool = False
    dates: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class PathContext:
    """What decides about a path besides the policy.

    `marker` is the sequence number from which things are remembered, `reply_to` holds the ids of
    messages that are replied to, and `last_not_loaded` is the last sequence number that was not
    read from storage. `compaction` is sent in the place of the turns that it covers.
    """

    path: Path
    terms: PathTerms
    marker: int
    reply_to: AbstractSet[str]
    last_not_loaded: int
    compaction: RunningSummary | None

    def left_out(self, turn: PathTurn, *, spared: bool) -> dict[int, Reason]:
        """The answers that are left out of a turn, by seq; `spared`: somebody pinned the turn or
        replies to it."""
        apart = excluded_answers(turn)
        if spared:
            return apart
        return self._long_answers(turn) | apart | background_answers(turn)

    def _long_answers(self, turn: PathTurn) -> dict[int, Reason]:
        longest = self.terms.longest_answer
        if longest is None:
            return {}
        return {
            entry.seq: "too_long"
            for entry in turn.entries
            if entry.message.role == "assistant"
            and not entry.message.calls
            and len(entry.message.content or "") > longest
        }
