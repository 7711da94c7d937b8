"""The owner and the rights behind a request, and the running site."""

from __future__ import annotations

import secrets
from typing import Any, cast

from django.contrib.auth import SESSION_KEY
from django.http import HttpRequest
from django.utils.crypto import salted_hmac

from chatsite.conversations.values.owners import Owner
from chatsite.wiring import Site


def site_of(request: HttpRequest) -> Site:
    scope = cast(Any, request).scope
    site: Site = scope["state"]["site"]
    return site


async def known_person(request: HttpRequest) -> Owner | None:
    """Who the session belongs to; None for somebody new, who gets no session here."""
    session = request.session
    user = await session.aget(SESSION_KEY)
    if user is not None:
        return Owner(user=int(user))
    guest = await session.aget("guest", "")
    return Owner(guest=guest) if guest else None


async def request_owner(request: HttpRequest) -> Owner:
    """The account, or the session's guest; a new guest gets a random id."""
    user = await request.auser()
    if user.is_authenticated:
        return Owner(user=user.pk)
    guest = await request.session.aget("guest", "")
    if not guest:
        guest = secrets.token_urlsafe(24)
        await request.session.aset("guest", guest)
    return Owner(guest=guest)


async def owner_mark(request: HttpRequest) -> str:
    """ "guest:…" or "user:…": lets the page tell whose drafts a tab holds, and nothing else."""
    kind, _, _ = (key := (await request_owner(request)).key).partition(":")
    return f"{kind}:{salted_hmac('chatsite.owner', key).hexdigest()[:16]}"


async def is_staff(request: HttpRequest) -> bool:
    user = await request.auser()
    return bool(user.is_active and user.is_staff)
