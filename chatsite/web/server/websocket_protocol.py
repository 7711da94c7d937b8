"""The server's WebSocket protocol, changed so that the code of a close reaches the client."""

from __future__ import annotations

from uvicorn.protocols.websockets.websockets_sansio_impl import WebSocketsSansIOProtocol

LINGER_SECONDS = 2.0


class LingeringWebSocket(WebSocketsSansIOProtocol):
    """Reads and discards the rest of a frame that is too long.

    Closing a TCP connection with unread bytes resets it: the browser would never read the close
    frame with its code (1009), would report a broken connection (1006), and would send the same
    frame again. `tests/story/test_access.py` holds that the code arrives.
    """

    def data_received(self, data: bytes) -> None:
        if self.conn.parser_exc is None:
            super().data_received(data)

    def handle_parser_exception(self) -> None:
        close = self.conn.close_sent
        assert close is not None
        self.queue.put_nowait(
            {"type": "websocket.disconnect", "code": close.code, "reason": close.reason}
        )
        self.transport.write(b"".join(self.conn.data_to_send()))
        self.close_sent = True
        if self.read_paused:
            self.read_paused = False
            self.transport.resume_reading()
        self.close_timer = self.loop.call_later(LINGER_SECONDS, self.transport.close)
