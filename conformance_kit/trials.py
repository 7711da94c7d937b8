"""A trial: what a subject made of one case, with what the checks ask for again and again."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar, Protocol

from chatsite.messages import Message
from conformance_kit.cases import Case, CaseEntry, message_in_short, split_turns


class PolicyRefused(Exception):
    """The subject raised an error, with a text for whoever asked, instead of choosing."""


class Subject(Protocol):
    """What is tried: anybody's function, or a policy with the settings it is tried under."""

    @property
    def name(self) -> str: ...

    def run(self, case: Any) -> Trial:
        """`case` is a Case, or of the class that the subject's own cases have.

        Raises PolicyRefused.
        """
        ...


@dataclass(frozen=True)
class Trial:
    """A case with the request that the subject made of it.

    `request` holds all that would be sent, head first. In it a message of the path is the very
    object of the case, unless the subject changed it.
    """

    case: Case
    subject: Subject
    request: tuple[Message, ...]

    # A message that the subject cut to its beginning ends with this; "" where it may cut none.
    cut_mark: ClassVar[str] = ""
    # Whether the subject may write messages of its own; somebody else then checks their sources.
    may_write: ClassVar[bool] = False

    @property
    def entries(self) -> tuple[CaseEntry, ...]:
        return self.case.entries

    @cached_property
    def by_id(self) -> dict[str, CaseEntry]:
        return {entry.message.id: entry for entry in self.entries}

    @cached_property
    def history(self) -> list[Message]:
        """The request without its head."""
        head = {id(message) for message in self.case.head}
        return [message for message in self.request if id(message) not in head]

    @cached_property
    def written(self) -> list[Message]:
        """Messages of the request that were never stored."""
        return [message for message in self.history if message.id not in self.by_id]

    @cached_property
    def sent(self) -> set[int]:
        """Sequence numbers of the stored messages that are in the request, in place."""
        chosen = {message.id for message in self.history}
        return {entry.seq for entry in self.entries if entry.message.id in chosen}

    @cached_property
    def older(self) -> list[tuple[CaseEntry, ...]]:
        """Turns before the current one."""
        turns = split_turns(self.entries)[:-1]
        return turns[1:] if turns and turns[0][0].message.role != "user" else turns

    @cached_property
    def current(self) -> tuple[CaseEntry, ...]:
        return split_turns(self.entries)[-1]

    @cached_property
    def unguarded(self) -> Trial:
        """The trial of the same case without a limit."""
        return self.subject.run(self.case.afresh.unlimited)

    @cached_property
    def marker(self) -> int:
        """The number below which nothing may be sent: the last "forget what is above"."""
        return max((entry.seq for entry in self.entries if entry.forgets_above), default=0)

    def is_spared(self, turn: Sequence[CaseEntry]) -> bool:
        """Whether a pin or the reply keeps the turn."""
        replied = self.current[0].message.reply_to
        return any(entry.pinned or entry.message.id == replied for entry in turn)

    def in_short(self) -> str:
        """The request, a word a message: the number of a stored one, none for a written one."""
        words = []
        for message in self.request:
            entry = self.by_id.get(message.id)
            words.append(f"{entry.seq if entry else ''}{message_in_short(message)}")
        return " ".join(words) or "nothing"
