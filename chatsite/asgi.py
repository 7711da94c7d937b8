"""The application as the server sees it: pages, the socket, and its own start and end."""

from __future__ import annotations

import asyncio
import gc
import os
from collections.abc import Awaitable, Callable
from typing import Any

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "chatsite.settings")

import django

django.setup(set_prefix=False)

from channels.auth import AuthMiddlewareStack
from channels.routing import ProtocolTypeRouter, URLRouter
from channels.security.websocket import WebsocketDenier
from django.urls import re_path

from chatsite.errors import ChatsiteError
from chatsite.language import Languages
from chatsite.live.frames import DirectFrames
from chatsite.live.limits import HandshakeLimits
from chatsite.live.origin import SameOrigin
from chatsite.live.routing import routes
from chatsite.startup import prepare_storage
from chatsite.web import health
from chatsite.web.server.bodies import BodyLimits
from chatsite.web.server.readable import Pages
from chatsite.web.server.request_limits import AddressLimits
from chatsite.web.server.threads import RequestThreads
from chatsite.wiring import Site


async def lifespan(
    scope: dict[str, Any],
    receive: Callable[[], Awaitable[dict[str, Any]]],
    send: Callable[[dict[str, Any]], Awaitable[None]],
) -> None:
    """Build the site before the first request and drain it after the last one."""
    await receive()
    try:
        await asyncio.to_thread(prepare_storage)
        site = Site()
        await site.start()
    except ChatsiteError as error:
        await send({"type": "lifespan.startup.failed", "message": error.message})
        return
    scope["state"]["site"] = site
    health.remember_database()
    # What was loaded so far stays; without this every full collection walks through it again,
    # and every answer waits for as long (60 to 130 ms).
    gc.collect()
    gc.freeze()
    await send({"type": "lifespan.startup.complete"})
    await receive()
    await site.stop()
    await send({"type": "lifespan.shutdown.complete"})


# Where no socket is, the handshake is refused (403); channels would raise an error.
sockets = URLRouter([*routes, re_path("", WebsocketDenier.as_asgi())])
application = ProtocolTypeRouter(
    {
        "http": Languages(AddressLimits(BodyLimits(RequestThreads(Pages())))),
        "websocket": Languages(
            SameOrigin(HandshakeLimits(DirectFrames(AuthMiddlewareStack(sockets))))
        ),
        "lifespan": lifespan,
    }
)
