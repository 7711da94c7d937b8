"""What a unit of writing locks on PostgreSQL, where many write at once: names, until it commits.

It holds them before it reads what it decides by. A name also stands for a row that isn't there yet,
as where two first messages of a conversation come at once: a row can't be locked then. Everybody
takes them in this order, so that no two wait for each other:

1. `shared`: the clock, or the records of all mails;
2. `room`: a Talk room, which says whose its conversation is;
3. the owner, for a quota or a cap, files that aren't sent yet, and what moves or goes with them;
4. the conversation. Who needs several holds their owner, too; others do one in each transaction;
5. `numbers`: those of the index of words.

SQLite has one writer at a time: nothing is asked there.
"""

from __future__ import annotations

import uuid
from collections.abc import Iterable
from typing import Literal

from chatsite.conversations.database.columns import fetch, key
from chatsite.conversations.models import Message, Turn
from chatsite.conversations.owners import Owner
from chatsite.conversations.settings import ON_POSTGRESQL

Id = str | uuid.UUID
_HOLD = "SELECT pg_advisory_xact_lock(hashtextextended({name}, 0)) FROM {rows}"
_NAMED = _HOLD.format(name="name", rows="unnest(%s::text[]) AS name")
# An id: a turn or a message stays in its conversation.
_OF_TURN, _OF_MESSAGE = (
    _HOLD.format(name="'conversation ' || conversation_id", rows=f"{table} WHERE id = %s")
    for table in (Turn._meta.db_table, Message._meta.db_table)
)


def hold(
    *owners: Owner,
    shared: Literal["", "clock", "mail"] = "",
    room: int | str = "",
    conversation: Id | Iterable[Id] = (),
    turn: str = "",
    message: Id = "",
    numbers: bool = False,
) -> None:
    """Wait until nobody else holds any of these, and hold them until the transaction ends. A `turn`
    or a `message` stands for its conversation, whose id is written as `str` writes a UUID. Each
    takes a place of the database's table of locks, which has 6,400 by default."""
    if not ON_POSTGRESQL:
        return
    several = [conversation] if isinstance(conversation, Id) else conversation
    names = [shared, room and f"room {room}", *sorted(f"owner {one.key}" for one in owners)]
    names += sorted(f"conversation {one}" for one in several if one)
    if names := [name for name in names if name]:
        fetch(_NAMED, names)
    if turn:
        fetch(_OF_TURN, key(turn))
    if message:
        fetch(_OF_MESSAGE, key(message))
    if numbers:
        fetch(_NAMED, ["numbers"])
