"""What a channel is: a way besides the page in which people reach agents.

A channel brings what was written there (`receive`), says who asks what (`who`), and carries the
answer back (`say`). Everything between is the same for all of them: `desk.Desk`.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Collection, Iterable, Sequence
from dataclasses import dataclass
from typing import Literal, Protocol, TypeVar

from chatsite.conversations.owners import Owner
from chatsite.conversations.records import Answer
from chatsite.messages import Source
from chatsite.turns.context.turn_context import PageRequest, Room

__all__ = ["Answer", "Channel", "Question", "Trouble"]

A = TypeVar("A")


class Trouble(Exception):
    """The channel can't go on. `message` is a sentence for the administrator, without secrets;
    `seconds` is how long it waits at least before it tries again."""

    def __init__(self, message: str, *, seconds: float = 0.0) -> None:
        super().__init__(message)
        self.message = message
        self.seconds = seconds


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """What somebody asks outside the page.

    `request` says of which agent, in whose conversation, and in which room. `client_id` is unique
    in the conversation: asked again, the turn that it began is found. `id` is the one under which
    the message is stored, "" for a new one; `reply_to` is a message on the path, `attachments` are
    uploads of the same owner. `speaker` wrote it where that isn't the conversation's owner;
    `person` is whom the limits count, "" for the owner.
    """

    request: PageRequest
    client_id: str
    text: str
    source: Source
    speaker: str = ""
    id: str = ""
    reply_to: str | None = None
    attachments: Sequence[str] = ()
    person: str = ""


class Channel(Protocol[A]):
    """One channel; `A` is what arrives there. `name` is its name in the log."""

    @property
    def name(self) -> str: ...

    def receive(self) -> AsyncIterator[A]:
        """Yields first what storage holds unfinished, then what comes in. Everything is stored
        before it is yielded, once, however often it is delivered. Raises Trouble."""
        ...

    def key(self, arrival: A) -> str:
        """Gives one text for each arrival, so that none is begun twice."""
        ...

    def place(self, arrival: A) -> str:
        """Names the arrival's place. The arrivals of one place are handled one after another, in
        their order."""
        ...

    def language(self, arrival: A) -> str:
        """Gives the language of what is said to the arrival's people besides the answer, as one of
        LANGUAGES."""
        ...

    async def who(self, arrival: A) -> Question | None:
        """Says who asks what. None stands for an arrival that is finished and gets no answer."""
        ...

    async def acknowledge(self, arrival: A, turn: str) -> None:
        """Tells people that the answer takes longer than some seconds."""
        ...

    async def say(self, arrival: A, answer: Answer) -> None:
        """Carries the answer back, so that a crash before or after never carries a second one, and
        finishes the arrival. Raises Trouble if a later try may work."""
        ...

    async def close(self) -> None:
        """Ends what is open. Nothing is received or said any more."""
        ...


# The names of accounts, all accounts, or those of the staff. Guests never read a room.
Readers = Literal["everyone", "staff"] | Collection[str]


@dataclass(frozen=True, slots=True, kw_only=True)
class Reader:
    """Somebody at the page: the account's name, "" for a guest."""

    name: str
    staff: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class OpenRoom:
    """A room with its conversation, which an account of its own owns."""

    room: Room
    conversation: str
    owner: Owner
    agent: str
    readers: Readers = ()

    def is_read_by(self, reader: Reader) -> bool:
        if not reader.name:
            return False
        if self.readers == "everyone":
            return True
        return reader.staff if self.readers == "staff" else reader.name in self.readers


class Rooms:
    """All rooms by their conversation, as the rows had them at the last look. `find` finds them:
    also those that another server opened."""

    def __init__(self) -> None:
        self.find: Callable[[], Awaitable[Iterable[OpenRoom]]] | None = None
        self._open: dict[str, OpenRoom] = {}

    async def look(self) -> None:
        if self.find is not None:
            self._open = {one.conversation: one for one in await self.find()}

    def of(self, conversation: str) -> OpenRoom | None:
        return self._open.get(conversation)

    def owned_by(self, owner: Owner) -> OpenRoom | None:
        return next((one for one in self._open.values() if one.owner == owner), None)

    def read_by(self, reader: Reader) -> tuple[OpenRoom, ...]:
        """Lists the rooms that this person may read, in the order of the file."""
        return tuple(one for one in self._open.values() if one.is_read_by(reader))

    def read(self, conversation: str, reader: Reader) -> OpenRoom | None:
        """Finds the room of this conversation, if this person may read it."""
        found = self.of(conversation)
        return found if found is not None and found.is_read_by(reader) else None
