"""What one run of a policy gave, seen in the same way whatever the policy is."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Protocol

from chatsite.conformance.cases import Case, message_in_short, turns_of
from chatsite.history import Decision, Entry, Window
from chatsite.messages import Message

OVER = ("over_budget", "over_window")
PLENTY = Window(10_000_000, 1)


class Refused(Exception):
    """The policy said aloud that it can't choose: an error with a text for whoever asked."""


class Subject(Protocol):
    """What is tried: one of our policies under some settings, or anybody's function."""

    @property
    def name(self) -> str: ...

    def see(self, case: Case) -> Seen:
        """Raises Refused."""
        ...


@dataclass(frozen=True)
class Seen:
    """A case decided, with what the checks ask for again and again.

    `request` is all that would be sent, head first. In it a message of the path is the very object
    of the case, unless the policy changed it. `decision` is None for a function that only returns
    messages.
    """

    case: Case
    subject: Subject
    request: tuple[Message, ...]
    decision: Decision | None = None

    @property
    def record(self) -> Decision:
        assert self.decision is not None, "there is no record of the choice"
        return self.decision

    @property
    def entries(self) -> tuple[Entry, ...]:
        return self.case.transcript.entries

    @cached_property
    def by_id(self) -> dict[str, Entry]:
        return {entry.message.id: entry for entry in self.entries}

    @cached_property
    def history(self) -> list[Message]:
        """The request without its head."""
        head = {id(message) for message in self.case.head.messages}
        return [message for message in self.request if id(message) not in head]

    @cached_property
    def written(self) -> list[Message]:
        """What stands in the request and was never stored."""
        return [message for message in self.history if message.id not in self.by_id]

    @cached_property
    def sent(self) -> set[int]:
        """Sequence numbers of the stored messages that are in the request, in place."""
        chosen = {message.id for message in self.history}
        return {entry.seq for entry in self.entries if entry.message.id in chosen}

    @cached_property
    def quoted(self) -> set[int]:
        """Sequence numbers of the stored messages that are there as quoted text."""
        quoted = [verdict for verdict in self.record.verdicts if verdict.quoted]
        return {e.seq for e in self.entries for run in quoted if run.first <= e.seq <= run.last}

    @cached_property
    def reasons(self) -> dict[int, str]:
        return {
            entry.seq: verdict.reason
            for verdict in self.record.verdicts
            for entry in self.entries
            if verdict.first <= entry.seq <= verdict.last
        }

    @cached_property
    def older(self) -> list[tuple[Entry, ...]]:
        """Turns before the current one."""
        turns = turns_of(self.entries)[:-1]
        return turns[1:] if turns and turns[0][0].message.role != "user" else turns

    @cached_property
    def current(self) -> tuple[Entry, ...]:
        return turns_of(self.entries)[-1]

    @cached_property
    def unguarded(self) -> Seen:
        """With all the room in the world."""
        return self.subject.see(replace(self.case.afresh, window=PLENTY, budget=None))

    @cached_property
    def marker(self) -> int:
        """The number from which things are remembered."""
        return max((entry.seq for entry in self.entries if entry.forgets_above), default=0)

    def is_spared(self, turn: Sequence[Entry]) -> bool:
        """Whether a pin or the reply keeps the turn."""
        replied = self.current[0].message.reply_to
        return any(entry.pinned or entry.message.id == replied for entry in turn)

    def in_short(self) -> str:
        """The request, a word a message: the number of a stored one, + for one that was not."""
        said = []
        for message in self.request:
            entry = self.by_id.get(message.id)
            said.append(f"{entry.seq if entry else ''}{message_in_short(message)}")
        return " ".join(said) or "nothing"


def tokens(messages: Sequence[Message]) -> int:
    return sum(message.tokens.count for message in messages if message.tokens)
