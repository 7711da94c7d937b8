"""Whoever was signed in under the cookie names of former versions stays signed in.

They were Django's own, `sessionid` and `csrftoken`, which other projects on this host use as well.
They are only read: another project's are neither changed nor removed.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from django.conf import settings
from django.contrib.sessions.backends.db import SessionStore
from django.http import HttpResponse
from django.http.cookie import parse_cookie

from chatsite.asgi_types import Front, Receive, Scope, Send

SESSION = "sessionid"
CSRF = "csrftoken"
TOKEN = re.compile(r"[A-Za-z0-9]{32,64}")
ANSWERED = ("http.response.start", "websocket.accept")


class FormerCookies(Front):
    """Wraps an application, behind the limits by address, since it asks the database.

    Where the present session cookie is missing and the former one names a session that is stored
    here, the application gets it under its present name, and so does the browser with the answer.
    """

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        given = _cookies(scope)
        is_static = scope["path"].startswith(settings.STATIC_URL)
        if SESSION not in given or settings.SESSION_COOKIE_NAME in given or is_static:
            await self._app(scope, receive, send)
            return
        issued = await _issue(given)
        if not issued.cookies:
            await self._app(scope, receive, send)
            return

        async def answer(event: Mapping[str, Any]) -> None:
            if event["type"] in ANSWERED:
                event = {**event, "headers": [*event.get("headers", ()), *_missing(event, issued)]}
            await send(event)

        present = {name: morsel.value for name, morsel in issued.cookies.items()}
        await self._app(_with_cookies(scope, {**given, **present}), receive, answer)


async def _issue(given: Mapping[str, str]) -> HttpResponse:
    """Make an answer with the cookies that take the place of the former ones; with none for a
    session that isn't stored here, or has ended."""
    issued = HttpResponse()
    session = SessionStore(given[SESSION])
    if not await session.aload():
        return issued
    issued.set_cookie(
        settings.SESSION_COOKIE_NAME,
        given[SESSION],
        max_age=await session.aget_expiry_age(),
        secure=settings.SESSION_COOKIE_SECURE,
        httponly=True,
        samesite=settings.SESSION_COOKIE_SAMESITE,
    )
    token = given.get(CSRF, "")
    # A page that is open goes on: its script sends the former token.
    if settings.CSRF_COOKIE_NAME not in given and TOKEN.fullmatch(token):
        issued.set_cookie(
            settings.CSRF_COOKIE_NAME,
            token,
            max_age=settings.CSRF_COOKIE_AGE,
            secure=settings.CSRF_COOKIE_SECURE,
            samesite=settings.CSRF_COOKIE_SAMESITE,
        )
    return issued


def _missing(event: Mapping[str, Any], issued: HttpResponse) -> list[tuple[bytes, bytes]]:
    """Return the headers for those that the answer doesn't set or remove itself."""
    answered = [value for name, value in event.get("headers", ()) if name.lower() == b"set-cookie"]
    return [
        (b"set-cookie", morsel.OutputString().encode())
        for name, morsel in issued.cookies.items()
        if not any(value.startswith(f"{name}=".encode()) for value in answered)
    ]


def _cookies(scope: Scope) -> dict[str, str]:
    lines = [value for name, value in scope["headers"] if name == b"cookie"]
    return parse_cookie(b"; ".join(lines).decode("latin-1"))


def _with_cookies(scope: Scope, cookies: Mapping[str, str]) -> Scope:
    line = "; ".join(f"{name}={value}" for name, value in cookies.items())
    rest = [(name, value) for name, value in scope["headers"] if name != b"cookie"]
    return {**scope, "headers": [*rest, (b"cookie", line.encode("latin-1", "ignore"))]}
