"""The WebSocket protocol of the server, with a close that arrives."""

from __future__ import annotations

from uvicorn.protocols.websockets.websockets_sansio_impl import WebSocketsSansIOProtocol

LINGER_SECONDS = 2.0


class LingeringWebSocket(WebSocketsSansIOProtocol):
    """After a frame that is too long, the rest of it is read and thrown away.

    Closing a TCP connection that holds unread bytes resets it: the browser then never reads the
    close frame with its code (1009), takes the line for broken (1006), and sends the same again.
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
