"""A guest's conversations move to the account at sign-in; sockets end with their session."""

from __future__ import annotations

from typing import Any

from django.contrib.auth.models import User
from django.http import HttpRequest

from chatsite.conversations.lifecycle import move_to_account
from chatsite.conversations.owners import Owner
from chatsite.conversations.signed_in import note_sign_in


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
