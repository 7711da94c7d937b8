"""One verdict for every message: sent or not, with a code and its tokens; and what a code says."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from chatsite.history.decision.decision_input import DecisionInput
from chatsite.history.lexical.sharing import show_why
from chatsite.history.values.counts import known_tokens, weakest
from chatsite.history.values.reasons import SENT, SENTENCES, Reason
from chatsite.history.values.window import Window
from chatsite.messages import Basis, Message, Role
from chatsite.wording import say

# What a run with this reason has for a role, unless it says another.
_ROLES: Mapping[str, Role] = {"system": "system", "current": "user"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """One verdict for a run of neighbours, `first` to `last` by sequence number.

    Head messages have 0 for both. `role` is None where the run has several roles or was not
    loaded. `quoted`: sent as quoted text, not in its place, directly before the message with the
    sequence number `before`. `why` is a sentence of its own, "" where the reason says all.
    `tokens` is what all of them take, sent or not.
    """

    first: int
    last: int
    messages: int
    role: Role | None
    sent: bool
    quoted: bool
    before: int
    reason: Reason
    why: str
    tokens: int
    basis: Basis

    def to_stored(self, basis: Basis) -> dict[str, object]:
        """Without what `show_verdict` knows by itself; `basis` is the usual one of the receipt."""
        found: dict[str, object] = {"reason": self.reason}
        if self.first:
            found["first"] = self.first
        if self.last != self.first:
            found["last"] = self.last
        if self.messages != self.last - self.first + 1:
            found["messages"] = self.messages
        if self.role != _ROLES.get(self.reason):
            found["role"] = self.role
        if self.before:
            found["before"] = self.before
        if self.why:
            found["why"] = self.why
        found["tokens"] = self.tokens
        if self.basis != basis:
            found["basis"] = self.basis
        return found


@dataclass(frozen=True, slots=True, kw_only=True)
class Bounds:
    """What the sentences of verdicts name: how far the policy goes, in words, the token budget,
    the window, and the low-water mark in percent."""

    scope: str
    budget: int | None
    window: Window
    low_water: int


def show_verdict(stored: Mapping[str, Any], bounds: Bounds, basis: Basis) -> dict[str, object]:
    """A stored verdict with all that it says by default, and its sentence."""
    reason, first = stored["reason"], stored.get("first", 0)
    last, before = stored.get("last", first), stored.get("before", 0)
    why = stored.get("why", "")
    return {
        "first": first,
        "last": last,
        "messages": stored.get("messages", last - first + 1),
        "role": stored.get("role", _ROLES.get(reason)),
        "sent": reason in SENT,
        "quoted": before > 0,
        "before": before,
        "reason": reason,
        "sentence": show_why(why) if why else _sentence(reason, bounds),
        "tokens": stored["tokens"],
        "basis": stored.get("basis", basis),
    }


def _sentence(reason: str, bounds: Bounds) -> str:
    """Why, for a reader; it completes "sent:" or "not sent:"."""
    if reason == "within_length":
        return say("within {scope}", scope=bounds.scope)
    if reason == "over_length":
        return say("older than {scope}", scope=bounds.scope)
    if reason == "over_budget":
        return say(
            "left out to stay within the budget of {budget:,} tokens", budget=bounds.budget or 0
        )
    if reason == "over_window":
        return say(
            "left out because the model's window of {window:,} tokens is full",
            window=bounds.window.size,
        )
    if reason == "above_cut":
        return say(
            "above the cut: {limit} was exceeded, so the oldest turns went at once, down to "
            "{low_water}% of the room; the beginning then stays the same",
            limit=_limit(bounds),
            low_water=bounds.low_water,
        )
    return say(SENTENCES.get(reason, reason.replace("_", " ")))


def _limit(bounds: Bounds) -> str:
    """What limits the request, in words."""
    if bounds.budget is not None and bounds.budget <= bounds.window.room:
        return say("the budget of {budget:,} tokens", budget=bounds.budget)
    return say("the model's window of {window:,} tokens", window=bounds.window.size)


@dataclass(frozen=True, slots=True, kw_only=True)
class Findings:
    """The reason for every loaded message, by sequence number, and the one for the others.

    `whys` are sentences of their own, where the reason's isn't enough; `quoted` are messages that
    are sent as quoted text, with the sequence number of the message they are quoted before.
    """

    reasons: Mapping[int, Reason]
    not_loaded_reason: Reason
    whys: Mapping[int, str] = field(default_factory=dict)
    quoted: Mapping[int, int] = field(default_factory=dict)


def verdicts(findings: Findings, given: DecisionInput) -> tuple[Verdict, ...]:
    """Verdicts on the head, on what was not loaded and on every entry, in this order.

    Neighbours with the same verdict are one run; but marked turns among what was not loaded are
    not neighbours of each other.
    """
    runs: list[_VerdictRun] = []
    for message in given.head.system:
        _extend(runs, _RunKey("system"), 0, message)
    for message in given.head.examples:
        _extend(runs, _RunKey("prefilled"), 0, message)
    transcript = given.transcript
    rest = transcript.not_loaded
    if rest.messages:
        kind = _RunKey(findings.not_loaded_reason)
        runs.append(_VerdictRun(kind, rest.first, rest.last, rest.messages, rest.tokens))
        # The totals may come from several tokenizers.
        runs[-1].bases.add("estimated")
    before = 0
    for entry in transcript.entries:
        reason = findings.reasons[entry.seq]
        kind = _RunKey(reason, findings.whys.get(entry.seq, ""), findings.quoted.get(entry.seq, 0))
        begins = entry.message.role in ("user", "system")
        apart = begins and (entry.seq < rest.last or 0 < before <= rest.last)
        _extend(runs, kind, entry.seq, entry.message, apart=apart)
        before = entry.seq
    return tuple(run.verdict() for run in runs)


class _RunKey(NamedTuple):
    """What neighbours must have in common to be one run. A named tuple: one is made and compared
    for each message, and a dataclass takes three times as long."""

    reason: Reason
    why: str = ""
    before: int = 0


@dataclass(slots=True)
class _VerdictRun:
    """A verdict on a run of neighbours, to which messages are still added."""

    kind: _RunKey
    first: int
    last: int
    messages: int = 0
    tokens: int = 0
    roles: set[Role] = field(default_factory=set)
    bases: set[Basis] = field(default_factory=set)

    def verdict(self) -> Verdict:
        return Verdict(
            first=self.first,
            last=self.last,
            messages=self.messages,
            role=next(iter(self.roles)) if len(self.roles) == 1 else None,
            sent=self.kind.reason in SENT,
            quoted=self.kind.before > 0,
            before=self.kind.before,
            reason=self.kind.reason,
            why=self.kind.why,
            tokens=self.tokens,
            basis=weakest(self.bases),
        )


def _extend(
    runs: list[_VerdictRun], kind: _RunKey, seq: int, message: Message, *, apart: bool = False
) -> None:
    run = runs[-1] if runs else None
    if run is None or apart or run.kind != kind or (run.first == 0) != (seq == 0):
        run = _VerdictRun(kind, seq, seq)
        runs.append(run)
    counted = known_tokens(message)
    run.last = max(run.last, seq)
    run.messages += 1
    run.tokens += counted.count
    run.roles.add(message.role)
    run.bases.add(counted.basis)
