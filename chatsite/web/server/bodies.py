"""Limits the bodies of requests before they are read, and streams those of files.

Django writes a whole body to disk before it calls a view, which could only then refuse it as too
long or not allowed. So a route without a body refuses one unread, a long body is only read from
somebody with a session, every body has to arrive in time, and the view of POST /files is called
before its body arrives.
"""

from __future__ import annotations

import asyncio
import json
import shutil
import tempfile
import time
from collections.abc import AsyncGenerator, Mapping
from typing import Any

from django.conf import settings
from django.contrib.auth import SESSION_KEY
from django.contrib.sessions.backends.db import SessionStore
from django.http import parse_cookie

from chatsite.asgi_types import App, Event, Front, Receive, Scope, Send
from chatsite.errors import TooMany
from chatsite.files.intake import LEAST_RATE, SILENCE_SECONDS, too_large
from chatsite.limits.limiter import Limiter, address_of
from chatsite.limits.table import BODIES, SMALL_BODY, Route
from chatsite.messages import MAX_ATTACHMENT_BYTES
from chatsite.web.server.responses import KEPT_NOWHERE
from chatsite.wording import later, say

FILES = "/files"
NO_BODY = later("This address takes no content. Nothing of it was kept.")
TOO_LARGE_REQUEST = later(
    "This request is larger than the {limit} it may have. Nothing of it was kept."
)
SIGN_IN_FOR_MORE = later(
    "Guests may send {most} MB here, and people who are signed in {signed_in} MB. Nothing of it "
    "was kept."
)
TOO_SLOW = later("The request didn't arrive in time. Nothing of it was kept.")
DISK_FULL = later("This server's disk is nearly full, so it takes no files now. Nothing was kept.")
# Bytes that stay free of the disk to which Django writes a long body. Less than for what is stored:
# a folder for temporary files may be small, and a body stays there for a moment.
KEPT_FREE = 100 * 1024 * 1024
NO_SESSION = later(
    "Open the page first: this request came without its session. Nothing of it was kept."
)
# How long the rest of a refused body is read and discarded. Closing a connection with unread bytes
# resets it, and the sender would never read the reason.
LINGER_SECONDS = 2.0
MEGABYTE = 1024 * 1024
EMPTY: Event = {"type": "http.request", "body": b"", "more_body": False}
GONE: Event = {"type": "http.disconnect"}


class BodyLimits(Front):
    """An ASGI application in front of Django, behind `AddressLimits`. A body may pause for as many
    seconds as `silence`; `kept_free` is in bytes."""

    def __init__(
        self, app: App, *, silence: float = SILENCE_SECONDS, kept_free: int = KEPT_FREE
    ) -> None:
        super().__init__(app)
        self._silence = silence
        self._kept_free = kept_free

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        route: Route = scope["chatsite.route"]
        length = _stated_length(scope)
        has_body = bool(length) or b"transfer-encoding" in dict(scope["headers"])
        if not has_body and not _is_upload(scope):
            await self._app(scope, receive, send)
            return
        limit = route.body
        if length > limit and route.account_body and await _is_signed_in(scope):
            limit = route.account_body
        bounded = _BoundedConnection(receive, send, limit=limit, silence=self._silence)
        if has_body and (length > limit or not limit):
            await bounded.refuse(413, "too_large", _too_large(limit, route.account_body))
            return
        limiter: Limiter = scope["state"]["site"].limiter
        try:
            with limiter.place(BODIES, address=address_of(scope)):
                await self._read(scope, bounded, length=length)
        except TooMany as error:
            await bounded.refuse(429, error.code, error.message)

    async def _read(self, scope: Scope, bounded: _BoundedConnection, *, length: int) -> None:
        if bounded.limit > SMALL_BODY and not await _has_session(scope):
            await bounded.refuse(403, "no_session", say(NO_SESSION))
        elif _is_upload(scope):
            body = StreamedBody(bounded.receive, length=length)
            # Whatever its stated type: Django must not read it as a form.
            unread = (b"content-type", b"content-length")
            headers = [(name, value) for name, value in scope["headers"] if name not in unread]
            streamed = {**scope, "headers": headers, "chatsite.body": body}
            await self._app(streamed, body.receive_for_django, bounded.send)
        elif bounded.limit > SMALL_BODY and (
            shutil.disk_usage(tempfile.gettempdir()).free - length < self._kept_free
        ):
            await bounded.refuse(507, "disk_full", say(DISK_FULL))
        else:
            await self._app(scope, bounded.receive_in_time, bounded.send)


class StreamedBody:
    """The body of one request, not read yet. `length` is the stated one, 0 where none is stated."""

    def __init__(self, receive: Receive, *, length: int) -> None:
        self.length = length
        self._receive = receive
        self._given = False
        self._ended = asyncio.Event()
        self._gone = False

    async def blocks(self) -> AsyncGenerator[bytes, None]:
        """Gives the bytes as they arrive. Raises ConnectionError if the client disconnects."""
        more = True
        while more:
            event = await self._receive()
            if event["type"] == "http.disconnect":
                self._gone = True
                self._ended.set()
                raise ConnectionError("the client went away")
            more = event.get("more_body", False)
            if event.get("body"):
                yield event["body"]
        self._ended.set()

    async def receive_for_django(self) -> Event:
        """Gives Django an empty body at once, and later the disconnection of the client."""
        if not self._given:
            self._given = True
            return EMPTY
        await self._ended.wait()
        return GONE if self._gone else await self._receive()


class _BoundedConnection:
    """A connection on which no body is longer than `limit` bytes."""

    def __init__(self, receive: Receive, send: Send, *, limit: int, silence: float) -> None:
        self._receive = receive
        self._send = send
        self._silence = silence
        self.limit = limit
        self._began = time.monotonic()
        self._came = 0
        self._ended = False
        self._refused = False

    async def receive(self) -> Event:
        if self._refused:
            return GONE
        event = await self._receive()
        self._came += len(event.get("body", b""))
        self._ended = not event.get("more_body", False)
        if self._came > self.limit:
            await self.refuse(413, "too_large", _too_large(self.limit))
            return GONE
        return event

    async def receive_in_time(self) -> Event:
        """Receives the same, and refuses a body that pauses too long, or is too slow on average."""
        if self._ended:
            return await self.receive()
        allowed = self._silence + self._came / LEAST_RATE
        left = self._began + allowed - time.monotonic()
        try:
            async with asyncio.timeout(min(left, self._silence)):
                return await self.receive()
        except TimeoutError:
            await self.refuse(408, "too_slow", say(TOO_SLOW))
            return GONE

    async def send(self, event: Mapping[str, Any]) -> None:
        if not self._refused:
            await self._send(event)

    async def refuse(self, status: int, code: str, message: str) -> None:
        """Sends the reason, and closes the connection."""
        self._refused = True
        body = json.dumps({"code": code, "message": message}).encode()
        headers = [
            (b"content-type", b"application/json"),
            (b"content-length", str(len(body)).encode()),
            (b"connection", b"close"),
            (b"cache-control", KEPT_NOWHERE.encode()),
        ]
        await self._send({"type": "http.response.start", "status": status, "headers": headers})
        await self._send({"type": "http.response.body", "body": body, "more_body": True})
        try:
            async with asyncio.timeout(LINGER_SECONDS):
                while (await self._receive()).get("more_body"):
                    pass
        except TimeoutError:
            pass
        await self._send({"type": "http.response.body", "body": b"", "more_body": False})


def _too_large(limit: int, signed_in: int = 0) -> str:
    if not limit:
        return say(NO_BODY)
    if signed_in > limit:
        return say(SIGN_IN_FOR_MORE, most=limit // MEGABYTE, signed_in=signed_in // MEGABYTE)
    if limit == MAX_ATTACHMENT_BYTES:
        return too_large()
    size = f"{limit // 1024} KB" if limit < 1024 * 1024 else f"{limit // 1024 // 1024} MB"
    return say(TOO_LARGE_REQUEST, limit=size)


def _stated_length(scope: Scope) -> int:
    """Reads the stated length; 0 stands for none that is valid: then the bytes are counted as they
    arrive."""
    for name, value in scope["headers"]:
        if name == b"content-length" and value.isdigit():
            return int(value)
    return 0


def _is_upload(scope: Scope) -> bool:
    return bool(scope["path"] == FILES and scope["method"] == "POST")


async def _has_session(scope: Scope) -> bool:
    return bool(await _session(scope))


async def _is_signed_in(scope: Scope) -> bool:
    return SESSION_KEY in await _session(scope)


async def _session(scope: Scope) -> dict[str, Any]:
    cookies = [value for name, value in scope["headers"] if name == b"cookie"]
    found = parse_cookie(b"; ".join(cookies).decode("latin-1")).get(settings.SESSION_COOKIE_NAME)
    return {} if found is None else await SessionStore(found).aload()
