"""Guests who sign in or don't come back, and sessions that are over."""

from __future__ import annotations

import time
from datetime import datetime

from django.contrib.auth.models import User
from django.contrib.sessions.models import Session
from django.db.models import Q
from django.utils import timezone

from chatsite.conversations.models import Conversation, Guest, Upload
from chatsite.conversations.upkeep.accounts import release
from chatsite.conversations.values.owners import Owner
from chatsite.storage import ROWS, Pieces, in_pieces, reading, writing

# An upload of 50 MB may take two hours. In memory: what is under way ends with the server.
SIGN_IN_SECONDS = 3 * 3600.0
_signed_in: dict[str, tuple[int, float]] = {}


def note_sign_in(*, guest: str, user: int) -> None:
    """Whose account the guest is from now on: what their requests still store is the account's."""
    now = time.monotonic()
    for key, (_, at) in list(_signed_in.items()):
        if now - at > SIGN_IN_SECONDS:
            _signed_in.pop(key, None)
    _signed_in[guest] = user, now


def owner_now(owner: Owner) -> Owner:
    """The account where the guest has signed in meanwhile."""
    user, _ = _signed_in.get(owner.guest, (None, 0.0))
    return owner if user is None else Owner(user=user)


@reading
def strays() -> list[tuple[str, int]]:
    """Guests who have signed in and were left something since, with their account."""
    accounts = {key: user for key, (user, _) in list(_signed_in.items())}
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
