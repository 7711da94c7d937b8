"""Policies that send the newest turns: where they cut, as a path and as a list of messages."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from operator import index

from chatsite.history.path.policy_choice import PolicyChoice, TurnRule
from chatsite.history.policies.base import DecisionContext, Terms
from chatsite.history.values.reasons import Reason
from chatsite.history.values.transcript import Entry, Turn, split_turns
from chatsite.messages import Message

# Turns, oldest first, how many more are above them that were not loaded, and the terms -> the
# position of the first turn that is sent.
Cut = Callable[[Sequence[Turn], int, Terms], int]


def acting_length(length: int) -> int:
    """The number of user messages that `length` means: 0 and below act as 1."""
    return max(1, length)


def cut_nothing(path: Sequence[Turn], not_loaded: int, terms: Terms) -> int:
    return 0


def choose_from_cut(
    cut: Cut, *, sent: Reason, left_out: Reason
) -> Callable[[DecisionContext], PolicyChoice]:
    """A choice of the newest turns, from where the policy cuts."""
    is_sent, is_left_out = TurnRule(reason=sent), TurnRule(reason=left_out)

    def choose(context: DecisionContext) -> PolicyChoice:
        counted = context.counted
        start = cut(counted, context.users_not_loaded, context.terms)
        first = counted[start] if start < len(counted) else context.path.current
        tail = first.entries[0].seq
        return PolicyChoice(
            rule=lambda turn: is_sent if turn.entries[0].seq >= tail else is_left_out,
            tail=tail,
            reached=context.reached,
        )

    return choose


def cut_messages(cut: Cut) -> Callable[[Sequence[Message], int, bool], list[Message]]:
    """The cut for a plain list: system messages first, or left out."""

    def apply(messages: Sequence[Message], length: int, preserve_system: bool) -> list[Message]:
        system = [message for message in messages if message.role == "system"]
        rest = [message for message in messages if message.role != "system"]
        path = split_turns([Entry(message=message, seq=seq) for seq, message in enumerate(rest, 1)])
        start = cut(path, 0, Terms(length=index(length)))
        sent = [entry.message for turn in path[start:] for entry in turn.entries]
        return system + sent if preserve_system else sent

    return apply
