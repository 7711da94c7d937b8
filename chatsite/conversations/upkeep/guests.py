"""Guests who don't come back, and sessions that are over."""

from __future__ import annotations

from datetime import datetime

from django.contrib.sessions.models import Session
from django.db.models import Q
from django.utils import timezone

from chatsite.conversations.database.work import ROWS, Pieces, in_pieces, writing
from chatsite.conversations.models import Guest
from chatsite.conversations.upkeep.accounts import release


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
