"""The path as its parts, and the fate of every turn before the guard: policy, then marks."""

from __future__ import annotations

from collections.abc import Set as AbstractSet
from dataclasses import dataclass

from chatsite.history.marks import (
    background_answers,
    excluded_answers,
    holds,
    is_background,
    is_excluded,
    is_pinned,
)
from chatsite.history.normaliser import broken
from chatsite.history.policies import Policy, Users
from chatsite.history.reasons import SENT, Reason
from chatsite.history.tokens import known_tokens
from chatsite.history.transcript import Entry, Transcript, Turn, turns
from chatsite.messages import Message


@dataclass(frozen=True, slots=True)
class Path:
    """The loaded path: system messages, what stands before the first user message, and turns."""

    system: tuple[Entry, ...]
    opening: tuple[Entry, ...]
    older: tuple[Turn, ...]
    current: Turn

    @classmethod
    def of(cls, transcript: Transcript) -> Path:
        """Raises ValueError when there is no current user message."""
        entries = transcript.entries
        found = turns([entry for entry in entries if entry.message.role != "system"])
        opening = found.pop(0).entries if found and found[0].user is None else ()
        if not found:
            raise ValueError("a transcript needs a user message: that of the current turn")
        return cls(
            system=tuple(entry for entry in entries if entry.message.role == "system"),
            opening=opening,
            older=tuple(found[:-1]),
            current=found[-1],
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Fate:
    """What becomes of a turn. `apart` holds the messages of it that fare differently, by seq.

    `kept_for` is the mark that spares the turn, if one does. `messages` are those that can be
    sent, `tokens` what these take.
    """

    turn: Turn
    reason: Reason
    kept_for: Reason | None
    apart: dict[int, Reason]
    messages: tuple[Message, ...]
    tokens: int

    @classmethod
    def of(
        cls, turn: Turn, *, reason: Reason, kept_for: Reason | None, apart: dict[int, Reason]
    ) -> Fate:
        """The fate of a turn whose messages `apart` are left out, and then what they break."""
        rest = (
            [entry for entry in turn.entries if entry.seq not in apart] if apart else turn.entries
        )
        lost = broken(rest)
        messages = tuple(entry.message for entry in rest if entry.seq not in lost)
        return cls(
            turn=turn,
            reason=reason,
            kept_for=kept_for,
            apart=apart | lost,
            messages=messages,
            tokens=sum(known_tokens(message).count for message in messages),
        )

    @property
    def first(self) -> int:
        return self.turn.entries[0].seq

    @property
    def is_sent(self) -> bool:
        return self.reason in SENT

    def reasons(self) -> dict[int, Reason]:
        """The reason for every message, by sequence number."""
        whole = dict.fromkeys((entry.seq for entry in self.turn.entries), self.reason)
        return whole | self.apart if self.is_sent else whole


@dataclass(frozen=True, slots=True, kw_only=True)
class Choice:
    """All fates, oldest first. `tail` is the seq from which policy and marker let turns be sent.

    `reached` says whether as many turns were loaded as the policy may send.
    """

    older: tuple[Fate, ...]
    current: Fate
    marker: int
    tail: int
    reached: bool


def choose(
    path: Path, *, marker: int, policy: Policy, length: int, reply_to: AbstractSet[str]
) -> Choice:
    """Apply the policy, then the marks. `marker` is the seq from which things are remembered.

    Background turns don't count towards the length. Marks on the current turn have no effect,
    but the marker may stand above it. A marker inside a turn takes the whole turn, since cuts
    fall between turns. A pin or a reply brings a background turn in: somebody asked for it.
    """
    counted = [turn for turn in path.older if not is_background(turn)] + [path.current]
    start = policy.cut(counted, length)
    tail = (counted[start] if start < len(counted) else path.current).entries[0].seq
    reach = policy.reach(length)
    return Choice(
        older=tuple(
            _fate(turn, policy=policy, tail=tail, marker=marker, reply_to=reply_to)
            for turn in path.older
        ),
        current=_current(path.current),
        marker=marker,
        tail=max(tail, min(marker, path.current.entries[0].seq)),
        reached=isinstance(reach, Users) and len(counted) >= reach.users,
    )


def _current(turn: Turn) -> Fate:
    """The current turn is always sent; only what a provider would refuse is left out of it."""
    apart = {} if is_background(turn) else background_answers(turn)
    return Fate.of(turn, reason="current", kept_for=None, apart=apart)


def _fate(
    turn: Turn, *, policy: Policy, tail: int, marker: int, reply_to: AbstractSet[str]
) -> Fate:
    first = turn.entries[0].seq
    kept_for: Reason | None = None
    if is_pinned(turn):
        kept_for = "pinned"
    elif holds(turn, reply_to):
        kept_for = "replied_to"
    reason: Reason
    if first < marker:
        reason = "above_marker"
    elif is_excluded(turn):
        reason = "excluded"
    elif is_background(turn):
        reason = kept_for or "background"
    elif first >= tail:
        reason = policy.sent
    else:
        reason = kept_for or policy.left_out
    apart = excluded_answers(turn)
    if kept_for is None:
        apart |= background_answers(turn)
    return Fate.of(turn, reason=reason, kept_for=kept_for, apart=apart)
