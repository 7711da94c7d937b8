"""The owner and the rights behind a request, and the running site."""

from __future__ import annotations

import secrets
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import Any, TypeVar, cast

from django.conf import settings
from django.http import HttpRequest
from django.utils import timezone
from django.utils.crypto import salted_hmac

from chatsite.accounts import guests
from chatsite.channels.channel import Reader
from chatsite.conversations.owners import Owner
from chatsite.errors import NotFound
from chatsite.wiring.site import Site

T = TypeVar("T")


def site_of(request: HttpRequest) -> Site:
    scope = cast(Any, request).scope
    site: Site = scope["state"]["site"]
    return site


async def known_person(request: HttpRequest) -> Owner | None:
    """Finds the account that is signed in, with its rights checked, or the session's guest; None
    stands for somebody new, who gets no session here."""
    user = await request.auser()
    if user.is_authenticated:
        return Owner(user=user.pk)
    guest = await request.session.aget("guest", "")
    return Owner(guest=guest) if guest else None


async def request_owner(request: HttpRequest) -> Owner:
    """Says who asks. Somebody without a session is a guest who has nothing and is forgotten at
    once: only `open_session` stores a guest."""
    return await known_person(request) or new_guest()


async def reader_of(request: HttpRequest) -> Reader:
    """Says who reads rooms: an account; a guest reads none."""
    user = await request.auser()
    return Reader(
        name=user.get_username() if user.is_authenticated else "", staff=await is_staff(request)
    )


async def reading_owner(request: HttpRequest, conversation: str) -> Owner:
    """Says in whose name this person reads the conversation: a room's if they may read it, else
    their own."""
    room = site_of(request).rooms.read(conversation, await reader_of(request))
    return room.owner if room is not None else await request_owner(request)


async def read_for(request: HttpRequest, read: Callable[[Owner], Awaitable[T]]) -> tuple[Owner, T]:
    """Gives what `read` finds of the person's own, or else of the rooms that they may read, with
    its owner. Raises NotFound."""
    own = await request_owner(request)
    try:
        return own, await read(own)
    except NotFound:
        for room in site_of(request).rooms.read_by(await reader_of(request)):
            with suppress(NotFound):
                return room.owner, await read(room.owner)
        raise


def new_guest() -> Owner:
    return Owner(guest=secrets.token_urlsafe(24))


async def open_session(request: HttpRequest) -> None:
    """Gives somebody without a session one, as a new guest, and notes a guest's visit."""
    owner = await known_person(request)
    if owner is None:
        owner = new_guest()
        await request.session.aset("guest", owner.guest)
    await note_visit(request, owner)


async def note_visit(request: HttpRequest, owner: Owner) -> None:
    """Notes a guest's visit, once a day. The session is stored then, and lasts as long as its
    guest."""
    today = timezone.now().date().isoformat()
    if not owner.guest or await request.session.aget("seen") == today:
        return
    await request.session.aset("seen", today)
    if settings.GUEST_DAYS:
        await request.session.aset_expiry(settings.GUEST_DAYS * 24 * 3600)
    await guests.note_visit(guest=owner.guest)


async def owner_mark(request: HttpRequest) -> str:
    """Makes a mark such as "guest:…" or "user:…": it tells the page whose drafts a tab holds, and
    nothing else."""
    kind, _, _ = (key := (await request_owner(request)).key).partition(":")
    return f"{kind}:{salted_hmac('chatsite.owner', key).hexdigest()[:16]}"


async def is_staff(request: HttpRequest) -> bool:
    user = await request.auser()
    return bool(user.is_active and user.is_staff)
