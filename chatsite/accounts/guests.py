"""Guests who sign in (their conversations move to the account) or don't come back, and sessions
that are over."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from django.contrib.auth.models import User
from django.contrib.sessions.models import Session
from django.db.models import Q
from django.http import HttpRequest
from django.utils import timezone

from chatsite.accounts.models import Guest
from chatsite.accounts.removal import release
from chatsite.conversations.lifecycle import move_to_account
from chatsite.conversations.models import Conversation, Upload
from chatsite.conversations.ownership import Owner, note_sign_in, signed_in
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


def move_guest_conversations(request: HttpRequest, user: User, **kwargs: Any) -> None:
    """At every sign-in, the admin's included: the session's guest becomes the account."""
    guest = request.session.pop("guest", "")
    if guest:
        # First: an upload that ends now is the account's, or is moved.
        note_sign_in(guest=guest, user=user.pk)
        move_to_account.here(guest=guest, user=user.pk)
        end_sockets(request, Owner(guest=guest))


def end_signed_out_sockets(request: HttpRequest, user: User | None, **kwargs: Any) -> None:
    """At signing out: close the sockets of this session's other tabs."""
    if user is not None:
        end_sockets(request, Owner(user=user.pk))


def end_sockets(request: HttpRequest, owner: Owner) -> None:
    """Without a running site (a command that signs somebody in) there are no sockets."""
    site = getattr(request, "scope", {}).get("state", {}).get("site")
    if site is not None:
        site.sockets.end(owner.session(request.session.session_key))
