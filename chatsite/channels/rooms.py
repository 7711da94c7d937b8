"""The rooms whose conversations some may read in the page. Nobody writes there but in the room."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from typing import Literal

from chatsite.conversations.owners import Owner
from chatsite.turns.context.turn_context import Room

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
    """All rooms by their conversation. A channel adds each once it has its conversation."""

    def __init__(self) -> None:
        self._open: dict[str, OpenRoom] = {}

    def add(self, opened: OpenRoom) -> None:
        self._open[opened.conversation] = opened

    def of(self, conversation: str) -> OpenRoom | None:
        return self._open.get(conversation)

    def owned_by(self, owner: Owner) -> OpenRoom | None:
        return next((one for one in self._open.values() if one.owner == owner), None)

    def read_by(self, reader: Reader) -> tuple[OpenRoom, ...]:
        """Those that this person may read, in the order of the file."""
        return tuple(one for one in self._open.values() if one.is_read_by(reader))

    def read(self, conversation: str, reader: Reader) -> OpenRoom | None:
        """The room of this conversation, where this person may read it."""
        found = self.of(conversation)
        return found if found is not None and found.is_read_by(reader) else None
