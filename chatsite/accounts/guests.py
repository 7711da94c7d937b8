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
from chatsite.conversations.database.locks import hold
from chatsite.conversations.lifecycle import move_to_account
from chatsite.conversations.models import Conversation, Upload
from chatsite.conversations.owners import Owner
from chatsite.conversations.ownership import note_sign_in, signed_in
from chatsite.storage import ROWS, Pieces, in_pieces, reading, writing


@reading
def strays() -> list[tuple[str, int]]:
    """List guests who have signed in and got something since, with their account."""
    accounts = {key: user for key, (user, _) in list(signed_in.items())}
    if not accounts:
        return []
    theirs = Q(user=None, guest__in=accounts)
    owners = {
        *Conversation.objects.filter(theirs).values_list("guest", flat=True),
        *Upload.objects.filter(theirs).values_list("guest", flat=True),
    }
    # An account may be deleted meanwhile.
    existing = User.objects.in_bulk({accounts[key] for key in owners})
    return [(key, accounts[key]) for key in owners if accounts[key] in existing]


@writing
def note_visit(*, guest: str, now: datetime | None = None) -> None:
    """Store that a guest opened the page. Called once a day for each."""
    hold(Owner(guest=guest))
    Guest.objects.update_or_create(key=guest, defaults={"seen": now or timezone.now()})


@in_pieces
def expire_guests(*, before: datetime) -> Pieces[int]:
    """Release all that guests have who weren't here since; the next purge removes it. Returns how
    many guests there were."""
    keys = list(Guest.objects.filter(seen__lt=before).values_list("key", flat=True))
    yield
    for key in keys:
        hold(owner := Owner(guest=key))
        while release(owner, as_guest="expired"):
            yield
            hold(owner)
        # Somebody may have come back in this moment, with nothing left.
        Guest.objects.filter(key=key, seen__lt=before).delete()
        yield
    return len(keys)


@in_pieces
def remove_old_sessions(*, now: datetime) -> Pieces[int]:
    """Remove the sessions that are over, and return how many."""
    count = 0
    while keys := list(
        Session.objects.filter(expire_date__lt=now).values_list("pk", flat=True)[:ROWS]
    ):
        Session.objects.filter(pk__in=keys, expire_date__lt=now).delete()
        count += len(keys)
        yield
    return count


def move_guest_conversations(request: HttpRequest, user: User, **kwargs: Any) -> None:
    """Make the session's guest the account, at every sign-in, the admin's included."""
    guest = request.session.pop("guest", "")
    if guest:
        # First: an upload that ends now is the account's, or is moved.
        note_sign_in(guest=guest, user=user.pk)
        move_to_account.here(guest=guest, user=user.pk)
        if (site := _site_of(request)) is not None:
            site.own_agents.expire()
        end_sockets(request, Owner(guest=guest))


def end_signed_out_sockets(request: HttpRequest, user: User | None, **kwargs: Any) -> None:
    """Close the sockets of this session's other tabs, at signing out, and all temporary chats."""
    if user is not None:
        end_sockets(request, owner := Owner(user=user.pk))
        if (site := _site_of(request)) is not None:
            site.temporary.signed_out(owner)


def end_sockets(request: HttpRequest, owner: Owner) -> None:
    """Close the session's sockets. Without a running site, as in a command, there are none."""
    if (site := _site_of(request)) is not None:
        site.sockets.end(owner.session(request.session.session_key))


def _site_of(request: HttpRequest) -> Any:
    return getattr(request, "scope", {}).get("state", {}).get("site")
