"""The server's HTTP protocol, with a limit to the time and the size of a request's headers."""

from __future__ import annotations

import asyncio
from typing import Any

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

# The slowest phone sends its headers in two packets.
HEADERS_SECONDS = 15.0
# Browsers send a few hundred bytes, and at most 8 KiB of cookies.
HEADERS_BYTES = 64 * 1024
# What else arrives is discarded for as long: closing a connection with unread bytes resets it.
LINGER_SECONDS = 2.0
TOO_LARGE = (
    b"HTTP/1.1 431 Request Header Fields Too Large\r\n"
    b"content-length: 0\r\nconnection: close\r\n\r\n"
)


class BoundedHttp(HttpToolsProtocol):
    """Closes a connection whose headers don't come to an end: uvicorn waits for them for ever, and
    keeps all that arrives."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._deadline: asyncio.TimerHandle | None = None
        self._header_bytes = 0
        self._refused = False

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self._await_headers()

    def connection_lost(self, exc: Exception | None) -> None:
        self._stop_waiting()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        if self._refused:
            return
        if self._deadline is not None:
            self._header_bytes += len(data)
        super().data_received(data)
        if self._deadline is not None and self._header_bytes > HEADERS_BYTES:
            self._stop_waiting()
            self._refused = True
            self.transport.write(TOO_LARGE)
            self.loop.call_later(LINGER_SECONDS, self.transport.close)

    def on_message_begin(self) -> None:
        self._await_headers()
        super().on_message_begin()

    def on_headers_complete(self) -> None:
        self._stop_waiting()
        super().on_headers_complete()

    def _await_headers(self) -> None:
        self._stop_waiting()
        self._header_bytes = 0
        self._deadline = self.loop.call_later(HEADERS_SECONDS, self.transport.close)

    def _stop_waiting(self) -> None:
        if self._deadline is not None:
            self._deadline.cancel()
            self._deadline = None
