"""The bodies of requests, bounded before anybody reads them, and streamed where they are files.

Django writes a body to disk, whatever its length, before a view is asked; only then a view can
say that it is too long, or not allowed. So lengths are bounded here, and POST /files gets to its
view with its body still to come.
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
# A conversation that is restored may have 20 MB, and what a form wraps it in.
LARGEST = 21 * 1024 * 1024
TOO_LARGE_REQUEST = "A request may have 21 MB. This one is larger; nothing of it was kept."
# How long what still comes is thrown away after a refusal. Closing a line that holds unread bytes
# resets it, and whoever sends then never reads why.
LINGER_SECONDS = 2.0
EMPTY: Event = {"type": "http.request", "body": b"", "more_body": False}
GONE: Event = {"type": "http.disconnect"}


class BodyLimits:
    """In front of Django."""

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
        # Whatever type is said of it: it must not be read as a form.
        headers = [(name, value) for name, value in scope["headers"] if name != b"content-type"]
        headers = [(name, value) for name, value in headers if name != b"content-length"]
        streamed = {**scope, "headers": headers, "chatsite.body": body}
        await self._app(streamed, body.receive_for_django, bounded.send)


class StreamedBody:
    """The body of one request, still to be read. `length` is what it states, 0 where it doesn't."""

    def __init__(self, receive: Receive, *, length: int) -> None:
        self.length = length
        self._receive = receive
        self._given = False
        self._ended = asyncio.Event()
        self._gone = False

    async def blocks(self) -> AsyncGenerator[bytes, None]:
        """What comes, as it comes. Raises ConnectionError where the client went away."""
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
        """An empty body at once; after it, that the client went away, once it did."""
        if not self._given:
            self._given = True
            return EMPTY
        await self._ended.wait()
        return GONE if self._gone else await self._receive()


class _BoundedConnection:
    """A client's line on which no body is longer than `limit` bytes."""

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
        """Say what is allowed, and close the line."""
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
    """0 where none is stated, or none that is a number: then what comes is counted."""
    for name, value in scope["headers"]:
        if name == b"content-length" and value.isdigit():
            return int(value)
    return 0
