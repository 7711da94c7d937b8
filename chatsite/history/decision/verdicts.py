"""One verdict for every message, sent or not, with a code and its tokens; and how many exchanges
these are, as people count: an exchange is a message with what answers it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from chatsite.history.path.marks import is_background
from chatsite.history.path.overflow import FittedPath
from chatsite.history.path.transcript import Transcript
from chatsite.history.reasons import SENT, Reason
from chatsite.history.room import Head, weakest
from chatsite.messages import Basis, Message, Role

# What a run with this reason has for a role, unless it says another.
ROLES: Mapping[str, Role] = {"system": "system", "current": "user"}
# What is no neighbour of the message before it, among what was not loaded.
BEGINNING = frozenset({"user", "system"})


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
        """Without what `show_verdicts` knows by itself; `basis` is the usual one of the receipt."""
        found: dict[str, object] = {"reason": self.reason}
        if self.first:
            found["first"] = self.first
        if self.last != self.first:
            found["last"] = self.last
        if self.messages != self.last - self.first + 1:
            found["messages"] = self.messages
        if self.role != ROLES.get(self.reason):
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
class Findings:
    """The reason for every loaded message, by sequence number, and the one for the others.

    `whys` are sentences of their own, where the reason's isn't enough; `quoted` are messages that
    are sent as quoted text, with the sequence number of the message they are quoted before.
    """

    reasons: Mapping[int, Reason]
    not_loaded_reason: Reason
    whys: Mapping[int, str] = field(default_factory=dict)
    quoted: Mapping[int, int] = field(default_factory=dict)


def verdicts(findings: Findings, head: Head, transcript: Transcript) -> tuple[Verdict, ...]:
    """Verdicts on the head, on what was not loaded and on every entry, in this order.

    Neighbours with the same verdict are one run; but marked turns among what was not loaded are
    not neighbours of each other.
    """
    runs: list[_VerdictRun] = []
    heads: dict[Reason, Sequence[Message]] = {"system": head.system, "prefilled": head.examples}
    for reason, messages in heads.items():
        if messages:
            runs.append(_VerdictRun((reason, "", 0), 0, 0))
        for message in messages:
            runs[-1].add(0, message)
    rest = transcript.not_loaded
    if rest.messages:
        kind = (findings.not_loaded_reason, "", 0)
        runs.append(_VerdictRun(kind, rest.first, rest.last, rest.messages, rest.tokens))
        # The totals may come from several tokenizers.
        runs[-1].bases.add("estimated")
    run, before = runs[-1] if rest.messages else None, 0
    for entry in transcript.entries:
        seq, message = entry.seq, entry.message
        kind = (findings.reasons[seq], findings.whys.get(seq, ""), findings.quoted.get(seq, 0))
        apart = (seq < rest.last or 0 < before <= rest.last) and message.role in BEGINNING
        if run is None or apart or run.kind != kind:
            run = _VerdictRun(kind, seq, seq)
            runs.append(run)
        run.add(seq, message)
        before = seq
    return tuple([run.verdict() for run in runs])


@dataclass(slots=True)
class _VerdictRun:
    """A verdict on a run of neighbours, to which messages are still added. `kind` is what they must
    have in common: the reason, a sentence of its own, and where they are quoted."""

    kind: tuple[Reason, str, int]
    first: int
    last: int
    messages: int = 0
    tokens: int = 0
    roles: set[Role] = field(default_factory=set)
    bases: set[Basis] = field(default_factory=set)

    def add(self, seq: int, message: Message) -> None:
        counted = message.tokens
        assert counted is not None  # see `DecisionInput.require_valid`
        self.last = max(self.last, seq)  # what was not loaded may reach further
        self.messages += 1
        self.tokens += counted.count
        self.roles.add(message.role)
        self.bases.add(counted.basis)

    def verdict(self) -> Verdict:
        reason, why, before = self.kind
        return Verdict(
            first=self.first,
            last=self.last,
            messages=self.messages,
            role=next(iter(self.roles)) if len(self.roles) == 1 else None,
            sent=reason in SENT,
            quoted=before > 0,
            before=before,
            reason=reason,
            why=why,
            tokens=self.tokens,
            basis=weakest(self.bases),
        )


# ---- as people count ----------------------------------------------------------------------
@dataclass(frozen=True, slots=True)
class Exchanges:
    """Of the `stored` exchanges `sent` are below the line and in the request. Above it `pinned`
    ones are sent in their place, and `older` ones for another reason or as quotes.

    Greetings belong to none, and a draft isn't stored yet. A message whose answer failed isn't
    one, and no more is a background task's turn.
    """

    stored: int
    sent: int
    pinned: int
    older: int

    @classmethod
    def of(cls, transcript: Transcript, fitted: FittedPath, horizon: int | None) -> Exchanges:
        quoted = {
            seq for quotes in (*fitted.earlier_quotes, fitted.quotes) for seq in quotes.reasons
        }
        line = horizon or 0
        not_loaded = transcript.not_loaded
        # The draft isn't stored; the current message is, and is sent.
        sent = int(not transcript.entries[-1].draft)
        stored = not_loaded.users - not_loaded.background + sent
        pinned = older = 0
        for turn in fitted.verdict.older:
            if turn.reason == "unanswered" or is_background(turn.turn):
                continue
            stored += 1
            if turn.is_in_request:
                if turn.first >= line:
                    sent += 1
                elif turn.kept_for == "pinned":
                    pinned += 1
                else:
                    older += 1
            elif quoted and any(entry.seq in quoted for entry in turn.turn.entries):
                older += 1
        return cls(stored=stored, sent=sent, pinned=pinned, older=older)

    def to_stored(self) -> list[int]:
        return [self.stored, self.sent, self.pinned, self.older]
