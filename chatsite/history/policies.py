"""What each policy sends: its cut, its reach into storage and its words.

To add a policy, write its cut and give it a line in `POLICIES`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from operator import index
from types import MappingProxyType

from chatsite.history.reasons import Reason
from chatsite.history.transcript import Entry, Turn, turns
from chatsite.messages import Message


@dataclass(frozen=True, slots=True)
class Users:
    """The store must load the last `users` user messages and all that answers them.

    Messages of background tasks are not counted; system messages, marked turns and the turn that
    is replied to come on top.
    """

    users: int


@dataclass(frozen=True, slots=True)
class Everything:
    """The store must load the whole active path."""


Reach = Users | Everything

# Turns, oldest first, and the length -> the position of the first turn that is sent.
Cut = Callable[[Sequence[Turn], int], int]


@dataclass(frozen=True, slots=True, kw_only=True)
class Policy:
    """One policy. `words` is for the chip, `scope` completes "older than ...".

    Both take the length. `sent` and `left_out` are the codes of what lies on either side of the
    cut.
    """

    cut: Cut
    reach: Callable[[int], Reach]
    words: Callable[[int], str]
    scope: Callable[[int], str]
    sent: Reason
    left_out: Reason
    uses_length: bool


def acting_length(length: int) -> int:
    """The number of user messages that `length` means: 0 and below act as 1."""
    return max(1, length)


def cut_none(path: Sequence[Turn], length: int) -> int:
    """Nothing but a user message that nobody has answered yet."""
    unanswered = bool(path) and path[-1].user is not None and len(path[-1].entries) == 1
    return len(path) - unanswered


def cut_last_n(path: Sequence[Turn], length: int) -> int:
    """The last turns that a user began. Nothing is cut when there are no more than that."""
    opened = len(path) - (1 if path and path[0].user is None else 0)
    kept = acting_length(length)
    return 0 if opened <= kept else len(path) - kept


def cut_all(path: Sequence[Turn], length: int) -> int:
    return 0


def _last_messages(length: int) -> str:
    count = acting_length(length)
    return "last user message" if count == 1 else f"last {count:,} user messages"


POLICIES: Mapping[str, Policy] = MappingProxyType(
    {
        "none": Policy(
            cut=cut_none,
            reach=lambda length: Users(1),
            words=lambda length: "only this message",
            scope=lambda length: "this message",
            sent="within_length",
            left_out="over_length",
            uses_length=False,
        ),
        "lastN": Policy(
            cut=cut_last_n,
            reach=lambda length: Users(acting_length(length)),
            words=_last_messages,
            scope=lambda length: f"the {_last_messages(length)}",
            sent="within_length",
            left_out="over_length",
            uses_length=True,
        ),
        "all": Policy(
            cut=cut_all,
            reach=lambda length: Everything(),
            words=lambda length: "everything",
            scope=lambda length: "the whole conversation",
            sent="within_budget",
            left_out="unloaded",
            uses_length=False,
        ),
    }
)


def apply_history_policy(
    messages: Sequence[Message],
    *,
    policy: str = "lastN",
    length: int = 20,
    preserve_system: bool = True,
) -> list[Message]:
    """Cut a list of messages as a policy says, without marks, budget or repair.

    `all` returns its input as it is. The others put system messages first, or leave them out
    without `preserve_system`. Raises ValueError for an unknown policy: it never means "all".
    """
    if policy not in POLICIES:
        raise ValueError(f"unknown policy {policy!r}: choose one of {', '.join(POLICIES)}")
    if policy == "all":
        return list(messages)
    system = [message for message in messages if message.role == "system"]
    said = [message for message in messages if message.role != "system"]
    path = turns([Entry(message=message, seq=seq) for seq, message in enumerate(said, 1)])
    start = POLICIES[policy].cut(path, index(length))
    kept = [entry.message for turn in path[start:] for entry in turn.entries]
    return system + kept if preserve_system else kept
