"""Deletes an account with everything that it has, without holding up other writers."""

from __future__ import annotations

from datetime import timedelta
from functools import partial

from django.contrib.auth import SESSION_KEY
from django.contrib.auth.models import User
from django.contrib.sessions.models import Session
from django.db import transaction
from django.db.models import Q
from django.utils import timezone

from chatsite.conversations.models import Conversation, Upload
from chatsite.conversations.path import loading
from chatsite.conversations.signals import text_changed
from chatsite.storage import tidying, writing

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
    return release(Q(user=user), as_guest=f"deleted account {user}")


@writing
def remove_account(*, user: int) -> None:
    """Remove the account itself, and what it got since the last piece was released."""
    while release(Q(user=user), as_guest=f"deleted account {user}"):
        pass
    User.objects.filter(pk=user).delete()


def release(whose: Q, *, as_guest: str) -> list[str]:
    """Take a piece of what somebody has away from them: marked as deleted and never sent, so long
    ago that the next purge removes it. Returns the ids; none where nothing is left."""
    then = timezone.now() - LONG_AGO
    nobody = {"user": None, "guest": as_guest}
    conversations = list(Conversation.objects.filter(whose).values_list("id", flat=True)[:PIECE])
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
    for start in range(0, len(keys), PIECE):
        users = {
            row.pk: int(user)
            for row in Session.objects.filter(pk__in=keys[start : start + PIECE])
            if (user := row.get_decoded().get(SESSION_KEY)) is not None
        }
        accounts = User.objects.in_bulk(set(users.values()))
        lost = [key for key, user in users.items() if user not in accounts]
        Session.objects.filter(pk__in=lost).delete()
        removed += len(lost)
    return removed
