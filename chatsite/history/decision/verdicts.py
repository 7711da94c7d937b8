"""One verdict for every message, sent or not, with a code and its tokens; where the model's view
begins; and how many exchanges these are, as people count: a message with what answers it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from chatsite.history.evidence import BECAUSE_OF_ROOM
from chatsite.history.path.marks import is_background
from chatsite.history.path.overflow import FittedPath
from chatsite.history.path.transcript import BACKGROUND, Entry, NotLoaded, Transcript
from chatsite.history.path.turn_verdicts import PathVerdict
from chatsite.history.reasons import SENT, Reason
from chatsite.history.room import Head, weakest
from chatsite.history.token_estimate import tokens_of
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


# ---- the reasons, read from a path that was made to fit --------------------------------------
def find_reasons(
    fitted: FittedPath, *, system: Mapping[int, Reason], opening: Iterable[Entry]
) -> Findings:
    """The reason for every message that was loaded; `system` are those of the instructions inside
    the path, `opening` the messages before the first user message."""
    reasons = {**system, **_opening_reasons(opening)}
    whys: dict[int, str] = {}
    for turn in (*fitted.verdict.older, fitted.verdict.current):
        turn.add_reasons(reasons)
        if turn.why:
            entries = turn.entries if turn.is_sent else turn.turn.entries
            whys |= dict.fromkeys((entry.seq for entry in entries), turn.why)
    quoted: dict[int, int] = {}
    for seq, (reason, why) in fitted.quotes.left_out.items():
        reasons[seq], whys[seq] = reason, why
    for quotes in (*fitted.earlier_quotes, fitted.quotes):
        reasons |= quotes.reasons
        whys |= quotes.whys
        quoted |= dict.fromkeys(quotes.reasons, quotes.before)
    return Findings(
        reasons=reasons,
        not_loaded_reason=fitted.not_loaded_reason,
        whys=whys,
        quoted=quoted,
    )


def judge_system(system: Iterable[Entry], marker: int) -> dict[int, Reason]:
    """Instructions inside the path, from an import: kept under every policy, unless marked."""
    reasons: dict[int, Reason] = {}
    for entry in system:
        if entry.seq < marker:
            reasons[entry.seq] = "above_marker"
        else:
            reasons[entry.seq] = "excluded" if entry.excluded else "system"
    return reasons


def _opening_reasons(opening: Iterable[Entry]) -> dict[int, Reason]:
    """The reasons for messages before the first user message, which answer nobody."""
    return {
        entry.seq: (
            "background"
            if entry.message.source in BACKGROUND
            else "greeting"
            if entry.message.role == "assistant"
            else "incomplete_tool_group"
        )
        for entry in opening
    }


def sum_gave_way(verdict: PathVerdict) -> tuple[int, int]:
    """How many messages gave way, and the tokens that this freed."""
    turns = [turn for turn in (*verdict.older, verdict.current) if turn.lines and turn.is_sent]

    def tokens(entries: Iterable[Entry], lines: Mapping[int, int]) -> list[int]:
        return [tokens_of(e.message) for e in entries if lines.get(e.seq) in BECAUSE_OF_ROOM]

    whole = [count for turn in turns for count in tokens(turn.turn.entries, turn.lines)]
    sent = [count for turn in turns for count in tokens(turn.entries, turn.lines)]
    return len(sent), sum(whole) - sum(sent)


def horizon_of(verdict: PathVerdict, not_loaded: NotLoaded) -> int | None:
    """The oldest turn of the unbroken tail; None when only greetings are above it.

    Turns that are left out one by one (excluded, background, unanswered) don't end the tail: they
    carry a mark in their place. Pinned turns directly above it belong to it.
    """
    position = len(verdict.older)
    for index in range(len(verdict.older) - 1, -1, -1):
        turn = verdict.older[index]
        # Among what was not loaded a marked turn has no neighbours.
        touches = index == position - 1 and turn.first > not_loaded.last
        if turn.is_in_request and (turn.first >= verdict.tail or touches):
            position = index
        elif turn.first < verdict.tail:
            break
    if position == 0 and not_loaded.users == 0:
        return None
    return (*verdict.older, verdict.current)[position].first


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
