"""The server's protocols with our bounds: of HTTP and of the page's socket."""

from __future__ import annotations

import asyncio
from typing import Any, cast

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol, RequestResponseCycle
from uvicorn.protocols.utils import ClientDisconnected
from uvicorn.protocols.websockets.websockets_sansio_impl import WebSocketsSansIOProtocol
from websockets.exceptions import InvalidState
from websockets.frames import Frame

from chatsite.limits.limiter import Limiter, address_key
from chatsite.limits.table import CONTROL_FRAMES
from chatsite.web.server.connections import HeldConnections, held_connections
from chatsite.web.server.deflate import DeflateFactory, ForgetfulDeflate

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


class _WatchedProtocol(asyncio.Protocol):
    """Watches whether the client reads what is written to it."""

    transport: asyncio.Transport
    client: tuple[str, int] | None
    _held: HeldConnections

    def connection_lost(self, exc: Exception | None) -> None:
        self._held.unread.remove(self.transport)
        super().connection_lost(exc)

    def pause_writing(self) -> None:
        super().pause_writing()
        self._held.unread.add(self._address, self.transport)

    def resume_writing(self) -> None:
        super().resume_writing()
        self._held.unread.remove(self.transport)

    @property
    def _address(self) -> str:
        return address_key(self.client[0]) if self.client else ""

    def _watch_rest(self) -> None:
        """A closed connection stays open until all that was written is read."""
        if self.transport.get_write_buffer_size():
            self._held.unread.add(self._address, self.transport)


class BoundedHttp(_WatchedProtocol, HttpToolsProtocol):
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

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self._await_headers()

    def connection_lost(self, exc: Exception | None) -> None:
        self._stop_waiting()
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

    def _is_answering(self) -> bool:
        cycle: RequestResponseCycle | None = self.cycle
        return cycle is not None and not cycle.response_complete

    def _is_idle(self) -> bool:
        """Tells whether nothing is being answered here, nor by the socket that this has become."""
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


# Parsed before a flood can be noticed: 700 pings of 6 bytes, which take 4 ms.
PARSED_AT_ONCE = 4_096
# As many bytes may hold seven frames that are 64 KiB each when they are read.
COMPRESSED_AT_ONCE = 512
# What waits for the end of the loop's round: more is written at once, so that a reader who doesn't
# read is noticed.
MOST_UNWRITTEN = 64 * 1024
_EXTENSIONS = [DeflateFactory()]
NOT_TEXT, TOO_MANY_FRAMES = 1007, 1008


class LingeringWebSocket(_WatchedProtocol, WebSocketsSansIOProtocol):
    """Reads and discards the rest of a frame that is too long, and of a flood.

    Closing a TCP connection with unread bytes resets it: the browser would never read the close
    frame with its code (1009), would report a broken connection (1006), and would send the same
    frame again. `tests/story/test_access.py` holds that the code arrives.

    One read of the socket can hold 40,000 frames. So the bytes are parsed in pieces, and none while
    the application has frames left to read.

    The frames that are sent in one round of the event loop are one write.
    """

    def __init__(self, config: Any, server_state: Any, app_state: Any) -> None:
        super().__init__(config, server_state, app_state)
        self.conn.available_extensions = _EXTENSIONS
        self._held = held_connections(server_state, config)
        self._unwritten = 0
        self._unparsed = bytearray()
        self._failed = False
        self._limiter: Limiter = self.app_state["site"].limiter
        self._person = f"socket {id(self)}"

    def keepalive_timeout(self) -> None:
        super().keepalive_timeout()
        self._watch_rest()

    def on_task_complete(self, task: asyncio.Task[None]) -> None:
        super().on_task_complete(task)
        self._watch_rest()

    def data_received(self, data: bytes) -> None:
        if not self._failed:
            self._unparsed += data
            self._parse()

    def _parse(self) -> None:
        most = COMPRESSED_AT_ONCE if self.conn.extensions else PARSED_AT_ONCE
        while self._unparsed and not self.read_paused and not self._failed:
            piece = bytes(self._unparsed[:most])
            del self._unparsed[:most]
            super().data_received(piece)
        if self._failed:
            self._unparsed.clear()

    async def receive(self) -> Any:
        if self._unparsed and self.queue.empty():
            self.read_paused = False
            self._parse()
            if not self.read_paused:  # the rest of a frame is still to come
                self.transport.resume_reading()
        message = await super().receive()
        if self._unparsed and not self.read_paused:
            self.read_paused = True
            self.transport.pause_reading()
        return message

    def handle_ping(self) -> None:
        if self._within_limit():
            super().handle_ping()

    def handle_pong(self, event: Frame) -> None:
        if self._within_limit():
            super().handle_pong(event)

    def send_receive_event_to_app(self) -> None:
        if self.close_sent and not self._within_limit():
            return
        if self.curr_msg_data_type == "text" and not is_utf8(b"".join(self.frames)):
            # uvicorn would log a traceback for each.
            self.frames = []
            self._fail(NOT_TEXT, "a text frame that isn't UTF-8")
            return
        super().send_receive_event_to_app()

    def _within_limit(self) -> bool:
        if self._failed:
            return False
        if self._limiter.wait_here(CONTROL_FRAMES, person=self._person):
            self._fail(TOO_MANY_FRAMES, "too many control frames")
            return False
        return True

    def _fail(self, code: int, reason: str) -> None:
        """Closes the connection; what else arrives is discarded unread."""
        self.conn.fail(code, reason)
        self.handle_parser_exception()

    async def send(self, message: Any) -> None:
        """Sends nothing after a close: an answer to what arrived before comes too late."""
        if self.handshake_complete and self.close_sent:
            raise ClientDisconnected
        if message["type"] != "websocket.send" or not self.handshake_complete:
            await super().send(message)
            return
        await self.writable.wait()
        if self.disconnected:
            raise ClientDisconnected
        text = message["text"].encode()
        try:
            self.conn.send_text(text)
        except InvalidState:
            raise ClientDisconnected from None
        if not self._unwritten:
            self.loop.call_soon(self._write)
        self._unwritten += len(text)
        if self._unwritten > MOST_UNWRITTEN:
            self._write()

    def _write(self) -> None:
        if self._unwritten and not self.disconnected:
            self._unwritten = 0
            self.transport.write(b"".join(self.conn.data_to_send()))

    def send_keepalive_ping(self) -> None:
        for agreed in self.conn.extensions:
            cast(ForgetfulDeflate, agreed).forget()
        super().send_keepalive_ping()

    def handle_parser_exception(self) -> None:
        close = self.conn.close_sent
        assert close is not None
        self._failed = True
        self._unparsed.clear()
        if not self.close_sent:
            self.queue.put_nowait(
                {"type": "websocket.disconnect", "code": close.code, "reason": close.reason}
            )
            self.transport.write(b"".join(self.conn.data_to_send()))
            self.close_sent = True
        if self.read_paused:
            self.read_paused = False
            self.transport.resume_reading()
        if self.close_timer is not None:
            self.close_timer.cancel()
        self.close_timer = self.loop.call_later(LINGER_SECONDS, self.transport.close)


def is_utf8(data: bytes) -> bool:
    try:
        data.decode()
    except UnicodeDecodeError:
        return False
    return True
