"""What is known of a Talk room and of the messages in it, as values.

`channels.talk` makes them from what the server says, `conversations.outside` stores them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from chatsite.conversations.values.owners import Owner

# What people said; a request to this program; what Talk itself notes; a message that was deleted;
# and what the bot posts: an acknowledgement, a note, an answer.
RoomKind = Literal["said", "command", "system", "deleted", "ack", "progress", "result"]
ChangeKind = Literal["edited", "deleted", "reaction", "cleared"]
# What is still to be done with a message: it goes into the conversation, it is being answered.
RoomState = Literal["waiting", "asked", "finished"]


@dataclass(frozen=True, slots=True, kw_only=True)
class RoomFile:
    """A file that was shared in a room: its path among the bot's own files, and its size."""

    name: str
    path: str
    size: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class RoomMessage:
    """One message of a room.

    `actor` is who wrote it, as `users/ada`; `name` is how the room shows them. `sent` and `edited`
    are seconds since 1970, `edited` 0 for never. `parent` is the message that it replies to, 0 for
    none, and `parent_reference` that one's reference id. `mentioned`: it names the bot;
    `to_bot`: it replies to a post of the bot.

    `waits`: it goes into the conversation. `addressed`: it is to be answered.
    """

    id: int
    actor: str
    name: str
    kind: RoomKind
    text: str
    sent: int = 0
    edited: int = 0
    reference: str = ""
    parent: int = 0
    parent_reference: str = ""
    mentioned: bool = False
    to_bot: bool = False
    files: tuple[RoomFile, ...] = ()
    waits: bool = False
    addressed: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class RoomChange:
    """Something that became of an earlier message: it was edited (`after` is how it reads now) or
    deleted, somebody reacted to it with `emoji`; or everything above was cleared away."""

    kind: ChangeKind
    message: int
    by: str = ""
    reference: str = ""
    emoji: str = ""
    after: RoomMessage | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class RoomRow:
    """A room as it is stored. `last_known` is the newest message that was taken, None where the
    room was never read."""

    key: int
    owner: Owner
    conversation: str
    last_known: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class RoomArrival:
    """A message with which something is still to be done. `settles` stands for all that only goes
    into the conversation; `id` is the newest of it then."""

    token: str
    id: int
    kind: Literal["question", "command", "settles"]


@dataclass(frozen=True, slots=True, kw_only=True)
class PlacedMessage:
    """A message on its way into the conversation: the id under which it is stored there, the one
    that it replies to, and its uploaded files."""

    message: RoomMessage
    id: str
    reply_to: str | None = None
    attachments: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class LastSent:
    """The newest receipt of a room's conversation, as it is shown."""

    receipt: Mapping[str, Any] = field(default_factory=dict)
