"""The application as the server sees it: pages, the socket, and its own start and end."""

from __future__ import annotations

import asyncio
import gc
import logging
import os
import sys
from typing import Any

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "chatsite.settings")

import django

from chatsite.errors import BadSetting, ChatsiteError
from chatsite.startup import prepare_storage, require_own_settings

try:
    require_own_settings()
    django.setup(set_prefix=False)
except BadSetting as error:
    sys.stderr.write(f"Chatsite can't start. {error.message}\n")
    # By this code uvicorn and gunicorn know a worker that would fail again.
    sys.exit(3)

from channels.auth import AuthMiddlewareStack
from channels.routing import ProtocolTypeRouter, URLRouter
from channels.security.websocket import WebsocketDenier
from django.conf import settings
from django.urls import path, re_path

from chatsite.accounts.former_cookies import FormerCookies
from chatsite.asgi_types import App, Receive, Scope, Send
from chatsite.language import Languages
from chatsite.live.consumer import ChatConsumer
from chatsite.live.limits import DirectFrames, HandshakeLimits, SameOrigin
from chatsite.shares.strangers import Strangers
from chatsite.web import health
from chatsite.web.server.bodies import BodyLimits
from chatsite.web.server.draining import send_elsewhere
from chatsite.web.server.not_started import ForAnyServer, NotStarted, fail_start
from chatsite.web.server.requests import AddressLimits, Pages, RequestThreads
from chatsite.web.server.static_files import collect_if_changed
from chatsite.wiring.site import Site

logger = logging.getLogger("chatsite")


def pages_and_sockets() -> App:
    """Built at the start: Django reads then which static files there are."""
    # Where no socket is, the handshake is refused (403); channels would raise an error.
    sockets = URLRouter(
        [path("ws", ChatConsumer.as_asgi()), re_path("", WebsocketDenier.as_asgi())]
    )
    built: App = ProtocolTypeRouter(
        {
            "http": Languages(
                AddressLimits(Strangers(FormerCookies(BodyLimits(RequestThreads(Pages())))))
            ),
            "websocket": Languages(
                SameOrigin(
                    HandshakeLimits(FormerCookies(DirectFrames(AuthMiddlewareStack(sockets))))
                )
            ),
        }
    )
    return built


async def start(state: dict[str, Any]) -> Site:
    """Fill the state that each request gets. Raises ChatsiteError."""
    await asyncio.to_thread(prepare_storage)
    site = Site()
    await site.start()
    if not settings.DEBUG:
        await asyncio.to_thread(collect_if_changed)
    state["site"] = site
    state["app"] = pages_and_sockets()
    health.remember_database()
    # What was loaded so far stays; without this every full collection walks through it again,
    # and every answer waits for as long (60 to 130 ms).
    gc.collect()
    gc.freeze()
    # Python's own thresholds (700, 10, 10) walk through a turn's objects several times while they
    # live, and find no cycles: an eighth of a turn's CPU under `all`, and pauses of up to 50 ms.
    gc.set_threshold(20_000, 20, 50)
    return site


async def lifespan(state: dict[str, Any], receive: Receive, send: Send) -> None:
    """Build the site before the first request and drain it after the last one."""
    await receive()
    try:
        site = await start(state)
    except Exception as error:
        if not isinstance(error, ChatsiteError):
            logger.exception("The start failed.")
        message = error.message if isinstance(error, ChatsiteError) else "Chatsite can't start."
        await fail_start(send, message)
        return
    await send({"type": "lifespan.startup.complete"})
    await receive()
    await site.stop()
    await send({"type": "lifespan.shutdown.complete"})


refusal = NotStarted()


async def serve(scope: Scope, receive: Receive, send: Send) -> None:
    """One connection, or the server's whole life."""
    state = scope.get("state")
    if scope["type"] == "lifespan" and state is not None:
        await lifespan(state, receive, send)
    elif state and "app" in state:
        if scope["type"] == "websocket" and state["site"].draining:
            await send_elsewhere(send)
        else:
            await state["app"](scope, receive, send)
    else:
        await refusal.refuse(scope, receive, send)


application = ForAnyServer(serve, refusal)
