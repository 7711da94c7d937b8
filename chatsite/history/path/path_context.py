"""What becomes of a path under every policy: its turns, the marks on them, and the settings that
act whatever the policy is."""

from __future__ import annotations

from collections.abc import Set as AbstractSet
from dataclasses import dataclass

from chatsite.history.reasons import Reason
from chatsite.history.path.marks import background_answers
from chatsite.history.path.marks import excluded_answers
from chatsite.history.path.marks import is_background
from chatsite.history.path.transcript import Entry
from chatsite.history.path.transcript import PathTurn
from chatsite.history.path.transcript import Transcript
from chatsite.history.path.transcript import split_turns


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


@dataclass(frozen=True, slots=True, kw_only=True)
class PathContext:
    """What decides about a path besides the policy.

    `marker` is the sequence number from which things are remembered, `reply_to` holds the ids of
    messages that are replied to, and `last_not_loaded` is the last sequence number that was not
    read from storage.
    """

    path: Path
    terms: PathTerms
    marker: int
    reply_to: AbstractSet[str]
    last_not_loaded: int

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
