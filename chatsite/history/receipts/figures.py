"""The figures of one decision, to be compared with those of another."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable
from dataclasses import dataclass

from chatsite.encoding import Record
from chatsite.history.decision.receipt import Decision
from chatsite.history.path.transcript import Entry
from chatsite.history.room import weakest
from chatsite.messages import Basis


@dataclass(frozen=True, slots=True, kw_only=True)
class DecisionFigures(Record):
    """What a decision sends: `messages` stored on the path and all `tokens` of the prompt.

    `leading` of the tokens, `share` percent of them, are the beginning of the request before. Of
    the conversation's tool `groups` some aren't sent at all, and others are sent in part, which a
    provider would refuse.
    """

    messages: int
    tokens: int
    basis: Basis
    leading: int
    share: int
    groups: int
    groups_left_out: int
    groups_cut: int


class ToolGroups:
    """The tool groups of a path, counted for any of its turns: a message that calls tools, with
    all its results."""

    def __init__(self, entries: Iterable[Entry]) -> None:
        self._seqs: list[int] = []
        self._members: list[set[str]] = []
        self._group_of: dict[str, int] = {}
        wanted: set[str] = set()
        for entry in entries:
            message = entry.message
            if message.calls:
                wanted = {call.id for call in message.calls}
                self._seqs.append(entry.seq)
                self._members.append(set())
            elif message.role == "user":
                wanted = set()
            if message.calls or (message.role == "tool" and message.call_id in wanted):
                self._members[-1].add(message.id)
                self._group_of[message.id] = len(self._members) - 1

    def figures(self, decision: Decision, *, last: int) -> DecisionFigures:
        """The decision's numbers; `last` is its current message's sequence number. What became of
        the groups is read from the request itself, not from the verdicts on it."""
        sent = {message.id for message in decision.request if message.id in self._group_of}
        touched = {self._group_of[id] for id in sent}
        whole = sum(self._members[group] <= sent for group in touched)
        held = bisect_right(self._seqs, last)
        leading = min(decision.leading, decision.tokens)
        return DecisionFigures(
            messages=decision.sent,
            tokens=decision.tokens,
            basis=weakest(part.basis for part in decision.parts if part.tokens > 0),
            leading=leading,
            share=100 * leading // decision.tokens if decision.tokens else 0,
            groups=held,
            groups_left_out=held - len(touched),
            groups_cut=len(touched) - whole,
        )
