"""Limits the bodies of requests before they are read, and streams those of files.

Django writes a whole body to disk before it calls a view, which could only then refuse it as too
long or not allowed. So the length is limited here, and the view of POST /files is called before
its body arrives.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping, MutableMapping
from typing import Any

from chatsite.files.intake import TOO_LARGE
from chatsite.messages import MAX_ATTACHMENT_BYTES

Event = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Event]]
Send = Callable[[Mapping[str, Any]], Awaitable[None]]
Scope = dict[str, Any]
App = Callable[[Scope, Receive, Send], Awaitable[None]]

FILES = "/files"
# A restored conversation may have 20 MB, and a form adds to it.
LARGEST = 21 * 1024 * 1024
TOO_LARGE_REQUEST = "A request may have 21 MB. This one is larger; nothing of it was kept."
# How long the rest of a refused body is read and discarded. Closing a connection with unread bytes
# resets it, and the sender would never read the reason.
LINGER_SECONDS = 2.0
EMPTY: Event = {"type": "http.request", "body": b"", "more_body": False}
GONE: Event = {"type": "http.disconnect"}


class BodyLimits:
    """An ASGI application in front of Django."""

    def __init__(self, app: App) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        file = scope["path"] == FILES and scope["method"] == "POST"
        bounded = _BoundedConnection(receive, send, MAX_ATTACHMENT_BYTES if file else LARGEST)
        length = _stated_length(scope)
        if length > bounded.limit:
            await bounded.refuse()
            return
        if not file:
            await self._app(scope, bounded.receive, bounded.send)
            return
        body = StreamedBody(bounded.receive, length=length)
        # Whatever its stated type: Django must not read it as a form.
        headers = [(name, value) for name, value in scope["headers"] if name != b"content-type"]
        headers = [(name, value) for name, value in headers if name != b"content-length"]
        streamed = {**scope, "headers": headers, "chatsite.body": body}
        await self._app(streamed, body.receive_for_django, bounded.send)


class StreamedBody:
    """The body of one request, not read yet. `length` is the stated one, 0 where none is stated."""

    def __init__(self, receive: Receive, *, length: int) -> None:
        self.length = length
        self._receive = receive
        self._given = False
        self._ended = asyncio.Event()
        self._gone = False

    async def blocks(self) -> AsyncGenerator[bytes, None]:
        """The bytes as they arrive. Raises ConnectionError where the client disconnects."""
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
        """An empty body at once; later the disconnection of the client."""
        if not self._given:
            self._given = True
            return EMPTY
        await self._ended.wait()
        return GONE if self._gone else await self._receive()


class _BoundedConnection:
    """A connection on which no body is longer than `limit` bytes."""

    def __init__(self, receive: Receive, send: Send, limit: int) -> None:
        self._receive = receive
        self._send = send
        self.limit = limit
        self._came = 0
        self._refused = False

    async def receive(self) -> Event:
        if self._refused:
            return GONE
        event = await self._receive()
        self._came += len(event.get("body", b""))
        if self._came > self.limit:
            await self.refuse()
            return GONE
        return event

    async def send(self, event: Mapping[str, Any]) -> None:
        if not self._refused:
            await self._send(event)

    async def refuse(self) -> None:
        """Send the reason, and close the connection."""
        self._refused = True
        said = TOO_LARGE if self.limit == MAX_ATTACHMENT_BYTES else TOO_LARGE_REQUEST
        body = json.dumps({"code": "too_large", "message": said}).encode()
        headers = [
            (b"content-type", b"application/json"),
            (b"content-length", str(len(body)).encode()),
            (b"connection", b"close"),
        ]
        await self._send({"type": "http.response.start", "status": 413, "headers": headers})
        await self._send({"type": "http.response.body", "body": body, "more_body": True})
        try:
            async with asyncio.timeout(LINGER_SECONDS):
                while (await self._receive()).get("more_body"):
                    pass
        except TimeoutError:
            pass
        await self._send({"type": "http.response.body", "body": b"", "more_body": False})


def _stated_length(scope: Scope) -> int:
    """0 where no valid length is stated: then the bytes are counted as they arrive."""
    for name, value in scope["headers"]:
        if name == b"content-length" and value.isdigit():
            return int(value)
    return 0
