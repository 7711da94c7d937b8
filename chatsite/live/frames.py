"""Frames go from the page's socket straight to the server."""

from __future__ import annotations

from typing import Any

from chatsite.asgi_types import App, Receive, Scope, Send

SEND = "chatsite.send"


class DirectFrames:
    """An ASGI application in front of the socket: keeps the server's own `send` in the scope.

    Channels looks for changes of the session before every frame, to save it; a socket makes none.
    That was a twentieth of a relayed token.
    """

    def __init__(self, app: App) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        await self._app({**scope, SEND: send}, receive, send)


async def send_text(scope: dict[str, Any], text: str) -> None:
    """Send one frame. Raises OSError where the page is gone."""
    await scope[SEND]({"type": "websocket.send", "text": text})
