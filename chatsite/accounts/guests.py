"""Guests who sign in or don't come back, and sessions that are over."""

from __future__ import annotations

from datetime import datetime

from django.contrib.auth.models import User
from django.contrib.sessions.models import Session
from django.db.models import Q
from django.utils import timezone

from chatsite.accounts.models import Guest
from chatsite.accounts.removal import release
from chatsite.conversations.models import Conversation, Upload
from chatsite.conversations.signed_in import signed_in
from chatsite.storage import ROWS, Pieces, in_pieces, reading, writing


@reading
def strays() -> list[tuple[str, int]]:
    """Guests who have signed in and were left something since, with their account."""
    accounts = {key: user for key, (user, _) in list(signed_in.items())}
    if not accounts:
        return []
    theirs = Q(user=None, guest__in=accounts)
    left = {
        *Conversation.objects.filter(theirs).values_list("guest", flat=True),
        *Upload.objects.filter(theirs).values_list("guest", flat=True),
    }
    users = User.objects.filter(pk__in={accounts[key] for key in left})
    there = set(users.values_list("pk", flat=True))  # an account may be deleted meanwhile
    return [(key, accounts[key]) for key in left if accounts[key] in there]


@writing
def note_visit(*, guest: str, now: datetime | None = None) -> None:
    """A guest opened the page. Called once a day for each."""
    Guest.objects.update_or_create(key=guest, defaults={"seen": now or timezone.now()})


@in_pieces
def expire_guests(*, before: datetime) -> Pieces[int]:
    """Release all that guests left who weren't here since; the next purge removes it. How many
    guests there were."""
    keys = list(Guest.objects.filter(seen__lt=before).values_list("key", flat=True))
    yield
    for key in keys:
        while release(Q(user=None, guest=key), as_guest="expired"):
            yield
        # Somebody may have come back in this moment, with nothing left.
        Guest.objects.filter(key=key, seen__lt=before).delete()
        yield
    return len(keys)


@in_pieces
def remove_old_sessions(*, now: datetime) -> Pieces[int]:
    """Remove the sessions that are over; how many."""
    count = 0
    while keys := list(
        Session.objects.filter(expire_date__lt=now).values_list("pk", flat=True)[:ROWS]
    ):
        Session.objects.filter(pk__in=keys).delete()
        count += len(keys)
        yield
    return count
