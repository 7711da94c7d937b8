"""Reads about accounts: their rights, and everything that one owner has."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass, field
from typing import Any

from django.contrib.auth.models import User

from chatsite.conversations.models import Conversation, Message, Upload
from chatsite.conversations.ownership import Owner, owned_conversation
from chatsite.storage import reading


@dataclass(frozen=True, slots=True)
class Rights:
    """Of an active account; one that is disabled or deleted has none. `password` is the stored
    hash: a new password ends every session, so it ends their sockets."""

    staff: bool
    password: str = field(repr=False)


# SQLite takes 32,766 values in a statement.
ASKED = 5_000


@reading
def rights_of(users: Collection[int]) -> dict[int, Rights]:
    """The rights of these accounts; disabled and deleted ones are missing. One indexed query for
    5,000 accounts: 1,000 take 3 ms."""
    return {
        user: Rights(staff=staff, password=password)
        for asked in _parts(sorted(users))
        for user, staff, password in User.objects.filter(pk__in=asked, is_active=True).values_list(
            "pk", "is_staff", "password"
        )
    }


def _parts(users: list[int]) -> Iterator[list[int]]:
    for start in range(0, len(users), ASKED):
        yield users[start : start + ASKED]


@reading
def conversations_of(owner: Owner) -> list[str]:
    """The ids of all conversations that aren't deleted, the oldest first."""
    rows = Conversation.objects.filter(owner.filter(), deleted=None).order_by("created")
    return [str(id) for id in rows.values_list("id", flat=True)]


@reading
def files_of(owner: Owner) -> list[tuple[str, str]]:
    """Id and name of all files, the oldest first."""
    rows = Upload.objects.filter(owner.filter(), conversation__deleted=None).order_by("created")
    return [(str(id), name) for id, name in rows.values_list("id", "name")]


@reading
def messages_aside(*, owner: Owner, conversation: str) -> list[dict[str, Any]]:
    """Messages that a conversation's file doesn't hold: other versions, and what was cleared away.
    Raises NotFound."""
    row = owned_conversation(owner, conversation)
    off_path = Message.objects.filter(conversation=row, on_path__in=(False,))
    aside = off_path.filter(deleted__isnull=True).order_by("seq")
    found = aside.values("role", "content", "reasoning", "created", "state")
    return [dict(one) for one in found.iterator(chunk_size=500)]
