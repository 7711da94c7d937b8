"""The owner and the rights behind a request, and the running site."""

from __future__ import annotations

import secrets
from typing import Any, cast

from django.http import HttpRequest
from django.utils.crypto import salted_hmac

from chatsite.conversations.values.owners import Owner
from chatsite.wiring import Site


def site_of(request: HttpRequest) -> Site:
    scope = cast(Any, request).scope
    site: Site = scope["state"]["site"]
    return site


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
