"""What a Nextcloud says of the messages in a Talk room, as values."""

from __future__ import annotations

import uuid
from dataclasses import dataclass
from typing import Literal

# What people said; a request to this program; what Talk itself notes; a message that was deleted;
# and what the bot posts: an acknowledgement, a note, an answer.
RoomKind = Literal["said", "command", "system", "deleted", "ack", "progress", "result"]
ChangeKind = Literal["edited", "deleted", "cleared", "stopped"]
ArrivalKind = Literal["question", "command", "settles"]
# What is still to be done with a message: it goes into the conversation, it is being answered.
RoomState = Literal["waiting", "asked", "finished"]


@dataclass(frozen=True, slots=True, kw_only=True)
class RoomFile:
    """A file that was shared in a room: its number on the server, its path among the bot's own
    files, and its size."""

    id: int = 0
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
    """Something that `id`, a message of the room, says of an earlier one: it was edited (`after` is
    how it reads now) or deleted; everything above was cleared away; or its speaker `by` wants no
    answer to what they asked up to there. `reference` is the earlier one's."""

    id: int
    kind: ChangeKind
    message: int
    by: str = ""
    reference: str = ""
    after: RoomMessage | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class RoomReaction:
    """Somebody reacted to a message with an emoji; `reference` is that of the message."""

    id: int
    message: int
    by: str
    emoji: str
    reference: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class RoomArrival:
    """Something that is still to be done: a question to answer, a command to follow; or (`settles`)
    what goes into the conversation up to the message `id`, and what changed there, with the newest
    message that was `known` then."""

    token: str
    id: int
    kind: ArrivalKind
    command: str = ""
    known: int = 0


def stored_id(server: str, token: str, number: int) -> str:
    """The id of a room's message in the conversation: the same one whenever it comes."""
    return str(uuid.uuid5(uuid.NAMESPACE_URL, f"{server}/call/{token}#message_{number}"))
