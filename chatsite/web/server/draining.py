"""A server of several that stops: it listens until the answers that it writes have ended, so that a
balancer hears from `/readyz` that it leaves, while its pages already go on at other servers."""

from __future__ import annotations

import socket
from http import HTTPStatus

import uvicorn

from chatsite.asgi_types import Send


class DrainingServer(uvicorn.Server):
    """uvicorn, which by itself stops listening at once."""

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        site = self.lifespan.state.get("site")
        if site is not None and not site.presence.is_alone:
            for connection in list(self.server_state.connections):
                connection.shutdown()  # a page's socket is told to connect again (1012)
            await site.drain()
        await super().shutdown(sockets)


async def send_elsewhere(send: Send) -> None:
    """Answer a socket's handshake with 503, for which a proxy asks the next server."""
    headers = [(b"cache-control", b"no-store"), (b"retry-after", b"1")]
    status = HTTPStatus.SERVICE_UNAVAILABLE
    await send({"type": "websocket.http.response.start", "status": status, "headers": headers})
    await send({"type": "websocket.http.response.body", "body": b""})
