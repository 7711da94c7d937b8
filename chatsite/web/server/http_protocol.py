"""The server's HTTP protocol, with a limit to how long a connection is held without a use."""

from __future__ import annotations

import asyncio
from typing import Any

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol, RequestResponseCycle

from chatsite.limits.addresses import address_key
from chatsite.web.server.connections import held_connections

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
    """Closes a connection whose request doesn't come, and one whose answer isn't read. uvicorn
    waits for both for ever, and keeps all that arrives. Of too many that wait the oldest is closed
    at once.

    Whenever no request is being answered, one of two timers runs: uvicorn's between two requests,
    which any byte stops, and the deadline here, which only whole headers do.
    """

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._held = held_connections(self.server_state, self.config)
        self._deadline: asyncio.TimerHandle | None = None
        self._header_bytes = 0
        self._refused = False
        self._address = ""

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self._address = address_key(self.client[0]) if self.client else ""
        self._await_headers()

    def connection_lost(self, exc: Exception | None) -> None:
        self._stop_waiting()
        self._held.unread.remove(self.transport)
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        if self._refused:
            return
        self._header_bytes += len(data)
        super().data_received(data)
        if self._header_bytes > HEADERS_BYTES:
            self._refuse()
        elif self._deadline is None and self.timeout_keep_alive_task is None and self._is_idle():
            # Bytes that begin no request: an empty line, or the rest of a refused body.
            self._await_headers()

    def on_message_begin(self) -> None:
        self._header_bytes = 0
        self._await_headers()
        super().on_message_begin()

    def on_headers_complete(self) -> None:
        self._header_bytes = 0
        self._stop_waiting()
        super().on_headers_complete()

    def on_body(self, body: bytes) -> None:
        # What follows the body may be headers again (trailers).
        self._header_bytes = 0
        super().on_body(body)

    def on_response_complete(self) -> None:
        super().on_response_complete()
        if self.transport.is_closing():
            self._watch_rest()
        elif self.timeout_keep_alive_task is not None:
            self._held.silent.add(self._address, self.transport)

    def timeout_keep_alive_handler(self) -> None:
        self._close()

    def pause_writing(self) -> None:
        super().pause_writing()
        self._held.unread.add(self._address, self.transport)

    def resume_writing(self) -> None:
        super().resume_writing()
        self._held.unread.remove(self.transport)

    def _is_answering(self) -> bool:
        cycle: RequestResponseCycle | None = self.cycle
        return cycle is not None and not cycle.response_complete

    def _is_idle(self) -> bool:
        """Whether nothing is being answered here, nor by the socket that this has become."""
        return (
            not self._is_answering()
            and not self.transport.is_closing()
            and self.transport.get_protocol() is self
        )

    def _refuse(self) -> None:
        self._stop_waiting()
        self._refused = True
        if not self._is_answering():
            self.transport.write(TOO_LARGE)
        self.loop.call_later(LINGER_SECONDS, self._close)

    def _close(self) -> None:
        self.transport.close()
        self._watch_rest()

    def _watch_rest(self) -> None:
        """A closed connection stays open until all that was written is read."""
        if self.transport.get_write_buffer_size():
            self._held.unread.add(self._address, self.transport)

    def _await_headers(self) -> None:
        if self._deadline is not None:
            self._deadline.cancel()
        self._deadline = self.loop.call_later(HEADERS_SECONDS, self._close)
        self._held.silent.add(self._address, self.transport)

    def _stop_waiting(self) -> None:
        if self._deadline is not None:
            self._deadline.cancel()
            self._deadline = None
        self._held.silent.remove(self._address, self.transport)
