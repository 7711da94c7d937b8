"""What one decision comes to, in numbers that can be set beside those of another."""

from __future__ import annotations

from dataclasses import dataclass

from chatsite.history.receipt import Decision
from chatsite.history.tokens import weakest
from chatsite.history.transcript import Entry, Transcript
from chatsite.messages import Basis


@dataclass(frozen=True, slots=True, kw_only=True)
class Groups:
    """Tool groups: a message that calls tools, with all its results.

    `held` by the conversation; of them `left_out` entirely, and `cut`: sent in part, which a
    provider would refuse.
    """

    held: int = 0
    left_out: int = 0
    cut: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """`messages` of the path that are sent, all `tokens` of the prompt, and how many of its first
    tokens (`leading`) are those of the request before; `groups` of the whole conversation."""

    messages: int
    tokens: int
    basis: Basis
    leading: int
    groups: Groups

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


def outcome(decision: Decision, transcript: Transcript) -> Outcome:
    """The decision's numbers; `transcript` is the whole path that it was made of."""
    return Outcome(
        messages=decision.sent,
        tokens=decision.tokens,
        basis=weakest(part.basis for part in decision.parts if part.tokens > 0),
        leading=min(decision.leading, decision.tokens),
        groups=_groups(decision, transcript),
    )


def _groups(decision: Decision, transcript: Transcript) -> Groups:
    """By the request itself, not by what the decision says of it."""
    sent = {message.id for message in decision.request}
    shares = [[e.message.id in sent for e in group] for group in tool_groups(transcript.entries)]
    return Groups(
        held=len(shares),
        left_out=sum(not any(share) for share in shares),
        cut=sum(any(share) and not all(share) for share in shares),
    )


def tool_groups(entries: tuple[Entry, ...]) -> list[list[Entry]]:
    """Every message that calls tools, each with the results that follow it."""
    groups: list[list[Entry]] = []
    wanted: set[str] = set()
    for entry in entries:
        message = entry.message
        if message.calls:
            wanted = {call.id for call in message.calls}
            groups.append([entry])
        elif message.role == "tool" and message.call_id in wanted:
            groups[-1].append(entry)
        elif message.role == "user":
            wanted = set()
    return groups
