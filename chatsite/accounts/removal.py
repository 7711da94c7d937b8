"""What is read and removed of one account or guest: rights, conversations, files, everything."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, field
from datetime import timedelta
from functools import partial
from typing import Any

from django.contrib.auth import SESSION_KEY
from django.contrib.auth.models import User
from django.contrib.sessions.models import Session
from django.db import transaction
from django.utils import timezone

from chatsite.conversations.database.columns import in_batches
from chatsite.conversations.database.locks import hold
from chatsite.conversations.models import Conversation, Message, Upload
from chatsite.conversations.owners import Owner
from chatsite.conversations.ownership import owned_conversation
from chatsite.conversations.path import loading
from chatsite.conversations.signals import owner_leaves, text_changed
from chatsite.storage import reading, tidying, writing

# 500 rows take some 10 ms of the writing thread.
PIECE = 500
# Longer ago than anything waits that was deleted: the next purge removes it.
LONG_AGO = timedelta(days=2)


@writing
def release_piece(*, user: int) -> list[str]:
    """Take some conversations and files from an account, for the next purge to remove: at most an
    hour later. Nobody finds them any more. Returns their ids; call this until none is left.

    An interrupted deletion leaves the account with the rest, to be deleted once more.
    """
    hold(owner := Owner(user=user))
    return release(owner, as_guest=f"deleted account {user}")


@writing
def remove_account(*, user: int) -> None:
    """Remove the account itself, and what it got since the last piece was released."""
    hold(owner := Owner(user=user))
    while release(owner, as_guest=f"deleted account {user}"):
        pass
    User.objects.filter(pk=user).delete()


def release(owner: Owner, *, as_guest: str) -> list[str]:
    """Take a piece of what an owner has away from them: marked as deleted and never sent, so long
    ago that the next purge removes it. Returns the ids; none where nothing is left. The caller
    holds the owner."""
    owner_leaves.send(Owner, owner=owner, user=None)
    whose, then = owner.filter(), timezone.now() - LONG_AGO
    nobody = {"user": None, "guest": as_guest}
    conversations = list(Conversation.objects.filter(whose).values_list("id", flat=True)[:PIECE])
    hold(conversation=conversations)
    text_changed.send(Conversation, conversations=conversations)
    Conversation.objects.filter(id__in=conversations).update(
        **nobody, deleted=then, importing=False
    )
    for id in conversations:
        transaction.on_commit(partial(loading.forget_entries, id))
    files = list(Upload.objects.filter(whose).values_list("id", flat=True)[:PIECE])
    Upload.objects.filter(id__in=files).update(**nobody, created=then)
    return [str(id) for id in (*conversations, *files)]


@tidying
def remove_lost_sessions() -> int:
    """Remove the sessions of accounts that don't exist any more, and return how many. Each is
    decoded, at 30 to 50 microseconds: nothing else says whose it is."""
    keys, removed = list(Session.objects.values_list("pk", flat=True)), 0
    for some in in_batches(keys, PIECE):
        users = {
            row.pk: int(user)
            for row in Session.objects.filter(pk__in=some)
            if (user := row.get_decoded().get(SESSION_KEY)) is not None
        }
        accounts = User.objects.in_bulk(set(users.values()))
        lost = [key for key, user in users.items() if user not in accounts]
        Session.objects.filter(pk__in=lost).delete()
        removed += len(lost)
    return removed


@dataclass(frozen=True, slots=True)
class Rights:
    """Holds the rights of an active account; one that is disabled or deleted has none. `password`
    is the stored hash: a new password ends every session, so it ends their sockets."""

    staff: bool
    password: str = field(repr=False)


# SQLite takes 32,766 values in a statement.
ASKED = 5_000


@reading
def rights_of(users: Collection[int]) -> dict[int, Rights]:
    """Return the rights of these accounts; disabled and deleted ones are missing. One indexed query
    for 5,000 accounts: 1,000 take 3 ms."""
    wanted, rights = sorted(users), {}
    for some in in_batches(wanted, ASKED):
        active = User.objects.filter(pk__in=some, is_active=True)
        for user, staff, password in active.values_list("pk", "is_staff", "password"):
            rights[user] = Rights(staff=staff, password=password)
    return rights


@reading
def conversations_of(owner: Owner) -> list[str]:
    """Return the ids of all conversations that aren't deleted or temporary, the oldest first."""
    rows = Conversation.objects.filter(owner.filter(), deleted=None, temporary=None)
    return [str(id) for id in rows.order_by("created").values_list("id", flat=True)]


@reading
def files_of(owner: Owner) -> list[tuple[str, str]]:
    """Return id and name of all files but those of temporary chats, the oldest first."""
    rows = Upload.objects.filter(owner.filter(), conversation__deleted=None, temporary=None)
    found = rows.order_by("created").values_list("id", "name")
    return [(str(id), name) for id, name in found]


@reading
def messages_aside(*, owner: Owner, conversation: str) -> list[dict[str, Any]]:
    """Return the messages that a conversation's file doesn't hold: other versions, and what was
    cleared away. Raises NotFound."""
    row = owned_conversation(owner, conversation)
    aside = Message.objects.filter(conversation=row, on_path__in=(False,), deleted__isnull=True)
    columns = aside.order_by("seq").values("role", "content", "reasoning", "created", "state")
    return [dict(message) for message in columns.iterator(chunk_size=500)]
