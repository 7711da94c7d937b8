"""The path as its parts, and the fate of every turn before the guard: policy, then marks."""

from __future__ import annotations

from collections.abc import Callable
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field

from chatsite.history.policies.triage import shortened
from chatsite.history.values.marks import (
    background_answers,
    excluded_answers,
    holds,
    is_background,
    is_excluded,
    is_pinned,
    is_unloaded,
)
from chatsite.history.values.normaliser import broken
from chatsite.history.values.reasons import SENT, Reason
from chatsite.history.values.tokens import known_tokens
from chatsite.history.values.transcript import Entry, Transcript, Turn, turns
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

    @property
    def counted(self) -> list[Turn]:
        """The turns that a length counts: not those of background tasks; the current one last."""
        return [turn for turn in self.older if not is_background(turn)] + [self.current]


@dataclass(frozen=True, slots=True, kw_only=True)
class Ruled:
    """What a policy says of one turn, before any mark.

    `apart` holds the messages of it that fare differently, by seq; `why` is a sentence of its
    own for the verdict, "" for the code's. `limit` cuts answers to so many characters, 0 none.
    """

    reason: Reason
    why: str = ""
    apart: dict[int, Reason] = field(default_factory=dict)
    limit: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Scheme:
    """A policy applied to one path. `tail` is the seq from which it lets every turn be sent, None
    where it chooses turn by turn. `reached`: as many turns were loaded as it may send."""

    rule: Callable[[Turn], Ruled]
    tail: int | None
    reached: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Fate:
    """What becomes of a turn. `apart` holds the messages of it that fare differently, by seq.

    `kept_for` is the mark that spares the turn, if one does. `entries` are those that can be
    sent, `tokens` what these take. `limit`: longer answers among them are cut to so many
    characters; 0 leaves them whole.
    """

    turn: Turn
    reason: Reason
    kept_for: Reason | None
    apart: dict[int, Reason]
    entries: tuple[Entry, ...]
    tokens: int
    why: str = ""
    limit: int = 0

    @classmethod
    def of(
        cls,
        turn: Turn,
        *,
        reason: Reason,
        kept_for: Reason | None,
        apart: dict[int, Reason],
        why: str = "",
        limit: int = 0,
    ) -> Fate:
        """The fate of a turn whose messages `apart` are left out, and then what they break."""
        rest = (
            tuple(entry for entry in turn.entries if entry.seq not in apart)
            if apart
            else turn.entries
        )
        lost = broken(rest)
        entries = tuple(entry for entry in rest if entry.seq not in lost) if lost else rest
        if limit:
            entries = tuple(shortened(entry, limit) for entry in entries)
        return cls(
            turn=turn,
            reason=reason,
            kept_for=kept_for,
            apart=apart | lost,
            entries=entries,
            tokens=sum(known_tokens(entry.message).count for entry in entries),
            why=why,
            limit=limit,
        )

    @property
    def first(self) -> int:
        return self.turn.entries[0].seq

    @property
    def is_sent(self) -> bool:
        return self.reason in SENT

    @property
    def is_there(self) -> bool:
        """Whether anything of it stands in the request: a strategy may choose what can't be sent
        without the rest of its group."""
        return self.is_sent and bool(self.entries)

    @property
    def messages(self) -> tuple[Message, ...]:
        return tuple(entry.message for entry in self.entries)

    def reasons(self) -> dict[int, Reason]:
        """The reason for every message, by sequence number."""
        whole = dict.fromkeys((entry.seq for entry in self.turn.entries), self.reason)
        return whole | self.apart if self.is_sent else whole


@dataclass(frozen=True, slots=True, kw_only=True)
class Choice:
    """All fates, oldest first. `tail` is the seq from which policy and marker let turns be sent."""

    older: tuple[Fate, ...]
    current: Fate
    marker: int
    tail: int
    reached: bool

    @property
    def loads(self) -> list[Fate]:
        """The older turns that would be sent."""
        return [fate for fate in self.older if fate.is_sent]


def choose(
    path: Path, *, marker: int, scheme: Scheme, reply_to: AbstractSet[str], away: int = 0
) -> Choice:
    """Apply the policy, then the marks. `marker` is the seq from which things are remembered,
    `away` the last one of what was not read.

    Background turns don't count towards the length. Marks on the current turn have no effect,
    but the marker may stand above it. A marker inside a turn takes the whole turn, since cuts
    fall between turns. A pin or a reply brings a background turn in, or an unloaded one: somebody
    asked for it. An unloaded turn keeps its place in the length, as an excluded one does.
    """
    current = current_fate(path.current)
    older = tuple(
        _fate(turn, ruled=scheme.rule(turn), marker=marker, reply_to=reply_to)
        for turn in path.older
    )
    tail = _unbroken(older, current.first, away) if scheme.tail is None else scheme.tail
    return Choice(
        older=older,
        current=current,
        marker=marker,
        tail=max(tail, min(marker, current.first), below_unloaded(older, current.first)),
        reached=scheme.reached,
    )


def current_fate(turn: Turn) -> Fate:
    """The current turn is always sent; only what a provider would refuse is left out of it."""
    apart = {} if is_background(turn) else background_answers(turn)
    return Fate.of(turn, reason="current", kept_for=None, apart=apart)


def below_unloaded(older: tuple[Fate, ...], current: int) -> int:
    """Where the first turn below all unloaded ones begins, 0 where none is: a cleanup takes many
    neighbours, so that the line belongs below them. `current` is where the current turn begins."""
    below = current
    for fate in reversed(older):
        if fate.reason == "unloaded":
            return below
        below = fate.first
    return 0


def _fate(turn: Turn, *, ruled: Ruled, marker: int, reply_to: AbstractSet[str]) -> Fate:
    first = turn.entries[0].seq
    kept_for: Reason | None = None
    if is_pinned(turn):
        kept_for = "pinned"
    elif holds(turn, reply_to):
        kept_for = "replied_to"
    reason, why, of_policy = ruled.reason, "", False
    if first < marker:
        reason = "above_marker"
    elif is_excluded(turn):
        reason = "excluded"
    elif is_background(turn):
        reason = kept_for or "background"
    elif is_unloaded(turn):
        reason = kept_for or "unloaded"
    elif kept_for and (ruled.reason not in SENT or ruled.apart):
        reason = kept_for
    else:
        why, of_policy = ruled.why, True
    apart = excluded_answers(turn)
    if kept_for is None:
        apart |= background_answers(turn)
    if of_policy:
        apart = ruled.apart | apart
    limit = ruled.limit if of_policy and reason in SENT else 0
    return Fate.of(turn, reason=reason, kept_for=kept_for, apart=apart, why=why, limit=limit)


def _unbroken(older: tuple[Fate, ...], current: int, away: int) -> int:
    """Where the unbroken tail begins, if what is left out one by one doesn't end it."""
    tail = current
    for fate in reversed(older):
        if fate.first <= away:
            break
        if fate.is_there:
            tail = fate.first
        elif fate.reason not in ("excluded", "background"):
            break
    return tail
