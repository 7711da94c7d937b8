"""The figures of one decision, to be compared with those of another."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable
from dataclasses import dataclass

from chatsite.history.decision.receipt import Decision
from chatsite.history.path.transcript import Entry
from chatsite.history.room import weakest
from chatsite.messages import Basis


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolGroupCounts:
    """Tool groups: a message that calls tools, with all its results.

    The conversation has `held` of them; of these `left_out` are not sent at all, and `cut` are sent
    in part, which a provider would refuse.
    """

    held: int = 0
    left_out: int = 0
    cut: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class DecisionFigures:
    """`messages` stored on the path that are sent, all `tokens` of the prompt, and how many of its
    first tokens (`leading`) are those of the request before; `groups` of the whole conversation."""

    messages: int
    tokens: int
    basis: Basis
    leading: int
    groups: ToolGroupCounts

    @property
    def share(self) -> int:
        """Percent of the prompt that the beginning of the request before makes up."""
        return 100 * self.leading // self.tokens if self.tokens else 0

    def to_dict(self) -> dict[str, object]:
        return {
            "messages": self.messages,
            "tokens": self.tokens,
            "basis": self.basis,
            "leading": self.leading,
            "share": self.share,
            "groups": self.groups.held,
            "groups_left_out": self.groups.left_out,
            "groups_cut": self.groups.cut,
        }


class ToolGroups:
    """The tool groups of a path, counted for any of its turns."""

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

    def of(self, decision: Decision, *, last: int) -> ToolGroupCounts:
        """What became of the groups up to the message `last`: by the request itself, not by the
        verdicts on it."""
        sent = {message.id for message in decision.request if message.id in self._group_of}
        touched = {self._group_of[id] for id in sent}
        whole = sum(self._members[group] <= sent for group in touched)
        held = bisect_right(self._seqs, last)
        return ToolGroupCounts(held=held, left_out=held - len(touched), cut=len(touched) - whole)


def figures_of(decision: Decision, groups: ToolGroups, *, last: int) -> DecisionFigures:
    """The decision's numbers; `last` is its current message's sequence number."""
    return DecisionFigures(
        messages=decision.sent,
        tokens=decision.tokens,
        basis=weakest(part.basis for part in decision.parts if part.tokens > 0),
        leading=min(decision.leading, decision.tokens),
        groups=groups.of(decision, last=last),
    )
