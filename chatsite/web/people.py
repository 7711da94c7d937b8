"""The owner and the rights behind a request, and the running site."""

from __future__ import annotations

import secrets
from typing import Any, cast

from django.conf import settings
from django.http import HttpRequest
from django.utils import timezone
from django.utils.crypto import salted_hmac

from chatsite.conversations import store
from chatsite.conversations.values.owners import Owner
from chatsite.wiring import Site


def site_of(request: HttpRequest) -> Site:
    scope = cast(Any, request).scope
    site: Site = scope["state"]["site"]
    return site


async def known_person(request: HttpRequest) -> Owner | None:
    """The account that is signed in, with its rights checked, or the session's guest; None for
    somebody new, who gets no session here."""
    user = await request.auser()
    if user.is_authenticated:
        return Owner(user=user.pk)
    guest = await request.session.aget("guest", "")
    return Owner(guest=guest) if guest else None


async def request_owner(request: HttpRequest) -> Owner:
    """Who asks. Somebody without a session is a guest who has nothing and is forgotten at once:
    only `open_session` stores one."""
    return await known_person(request) or new_guest()


def new_guest() -> Owner:
    return Owner(guest=secrets.token_urlsafe(24))


async def open_session(request: HttpRequest) -> None:
    """Give somebody without a session one, as a new guest; note a guest's visit, once a day."""
    owner = await known_person(request)
    if owner is None:
        owner = new_guest()
        await request.session.aset("guest", owner.guest)
    await note_visit(request, owner)


async def note_visit(request: HttpRequest, owner: Owner) -> None:
    """Once a day: a session is stored with it, and lasts as long as its guest."""
    today = timezone.now().date().isoformat()
    if not owner.guest or await request.session.aget("seen") == today:
        return
    await request.session.aset("seen", today)
    if settings.GUEST_DAYS:
        await request.session.aset_expiry(settings.GUEST_DAYS * 24 * 3600)
    await site_of(request).run(store.note_visit, guest=owner.guest)


async def owner_mark(request: HttpRequest) -> str:
    """ "guest:…" or "user:…": lets the page tell whose drafts a tab holds, and nothing else."""
    kind, _, _ = (key := (await request_owner(request)).key).partition(":")
    return f"{kind}:{salted_hmac('chatsite.owner', key).hexdigest()[:16]}"


async def is_staff(request: HttpRequest) -> bool:
    user = await request.auser()
    return bool(user.is_active and user.is_staff)
