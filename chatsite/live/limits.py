"""What stands in front of the page's socket: its origin, its limits and the way of its frames."""

from __future__ import annotations

from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Any

from channels.security.websocket import WebsocketDenier
from django.conf import settings
from django.http.request import split_domain_port, validate_host

from chatsite.asgi_types import Front, Receive, Scope, Send
from chatsite.errors import TooMany
from chatsite.limits.limiter import Limiter, address_of
from chatsite.limits.table import COMMANDS, DRAFTS, FRAMES, HANDSHAKES, REFUSED_FRAMES, SOCKETS
from chatsite.live.commands import AnyCommand, AskPreview


class SameOrigin(Front):
    """Refuses the handshake (403) unless `Origin` equals the page's own origin."""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        headers = {name.lower(): value.decode("latin1") for name, value in scope["headers"]}
        if same_origin(headers, scheme=scope.get("scheme", "ws")):
            await self._app(scope, receive, send)
        else:
            await WebsocketDenier()(scope, receive, send)


def same_origin(headers: dict[bytes, str], *, scheme: str) -> bool:
    """Compares as browsers write origins: lower case, no default port."""
    host = headers.get(b"host", "").lower()
    domain, _ = split_domain_port(host)
    if not domain or not validate_host(domain, settings.ALLOWED_HOSTS):
        return False
    secure = scheme == "wss"
    if settings.SECURE_PROXY_SSL_HEADER:
        first = headers.get(b"x-forwarded-proto", "").partition(",")[0]
        secure = first.strip() == "https"  # as Django reads it for the page itself
    own, default = ("https", ":443") if secure else ("http", ":80")
    return headers.get(b"origin", "").lower() == f"{own}://{host.removesuffix(default)}"


# The code of a close for which the page waits and says why; a flood gets 1008.
TOO_MANY_SOCKETS = 4429


class HandshakeLimits(Front):
    """An ASGI application in front of the socket: counts handshakes by address before the session
    is looked up. The socket is accepted first, because browsers hide why one was refused."""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        limiter: Limiter = scope["state"]["site"].limiter
        address = address_of(scope)
        try:
            await limiter.take(HANDSHAKES, address=address)
            with limiter.place(SOCKETS, address=address):
                await self._app(scope, receive, send)
        except TooMany as error:
            await receive()
            await send({"type": "websocket.accept"})
            await send(closed_for(error))


def closed_for(error: TooMany) -> dict[str, Any]:
    """The close of a socket that is one too many; its reason is a sentence for the page."""
    return {"type": "websocket.close", "code": TOO_MANY_SOCKETS, "reason": error.message}


@dataclass(frozen=True, slots=True)
class SocketLimits:
    """The limits of one open socket."""

    limiter: Limiter
    person: str
    address: str

    async def place(self) -> AbstractContextManager[None]:
        """The socket's own place, until the end of the `with` block. Raises TooMany."""
        await self.limiter.take(HANDSHAKES, person=self.person)
        return self.limiter.place(SOCKETS, person=self.person)

    async def take_frame(self) -> None:
        """Before a frame is read. Raises TooMany."""
        await self.limiter.take(FRAMES, person=self.person, address=self.address)

    async def take(self, command: AnyCommand) -> None:
        """Before a command is done. Raises TooMany."""
        for rate in COMMANDS[command.type]:
            amount = len(command.draft) if rate is DRAFTS and isinstance(command, AskPreview) else 1
            await self.limiter.take(rate, person=self.person, address=self.address, amount=amount)

    async def is_flood(self) -> bool:
        """After a command was refused: whether this socket's refusals are too many. The person's
        other sockets only wait."""
        return await self.limiter.wait(REFUSED_FRAMES, person=f"socket {id(self)}") > 0


SEND = "chatsite.send"


class DirectFrames(Front):
    """An ASGI application in front of the socket: keeps the server's own `send` in the scope.

    Channels looks for changes of the session before every frame, to save it; a socket makes none.
    That was a twentieth of a relayed token.
    """

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        await self._app({**scope, SEND: send}, receive, send)


async def send_text(scope: dict[str, Any], text: str) -> None:
    """Send one frame. Raises OSError where the page is gone."""
    await scope[SEND]({"type": "websocket.send", "text": text})
