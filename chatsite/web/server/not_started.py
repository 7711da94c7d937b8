"""What is answered where a server runs the application without its start: one sentence, and how to
start it. daphne knows no lifespan, gunicorn by itself calls it as WSGI, uvicorn can be told to."""

from __future__ import annotations

import logging
import os
import sys
from collections.abc import Callable, Iterable
from typing import Any

from chatsite.asgi_types import App, Receive, Scope, Send
from chatsite.wording import later, say

StartResponse = Callable[[str, list[tuple[str, str]]], object]

logger = logging.getLogger("chatsite")
HOW_TO_START = later("Chatsite can't run as it was started here. Use: python manage.py serve")
# Of those that an application may use; daphne takes no other.
NOT_STARTED = 4503
MOST_BYTES = 123  # of the reason of a close
HEADERS = {"content-type": "text/plain; charset=utf-8", "cache-control": "no-store"}


async def fail_start(send: Send, message: str) -> None:
    """Answer that the start failed; without this answer some servers would go on, and serve
    nothing. hypercorn raises an error for it, and would end with its traceback."""
    try:
        await send({"type": "lifespan.startup.failed", "message": message})
    except Exception:
        sys.stderr.write(f"{message}\n")
        sys.stderr.flush()
        os._exit(3)  # by an error, asyncio would show where it comes from


class NotStarted:
    """An application for both protocols: it answers 503, closes sockets and fails a lifespan, each
    with the sentence. One line in the log says it too."""

    def __init__(self) -> None:
        self._logged = False

    async def refuse(self, scope: Scope, receive: Receive, send: Send) -> None:
        """As ASGI asks."""
        if scope["type"] == "lifespan":
            await receive()
            await fail_start(send, say(HOW_TO_START))
            return
        sentence = self._sentence()
        if scope["type"] == "http":
            headers = [(name.encode(), value.encode()) for name, value in HEADERS.items()]
            await send({"type": "http.response.start", "status": 503, "headers": headers})
            await send({"type": "http.response.body", "body": sentence.encode()})
        else:
            await receive()
            # Accepted first: browsers hide why a handshake was refused.
            await send({"type": "websocket.accept"})
            reason = sentence.encode()[:MOST_BYTES].decode(errors="ignore")
            await send({"type": "websocket.close", "code": NOT_STARTED, "reason": reason})

    def refuse_wsgi(self, start_response: StartResponse) -> Iterable[bytes]:
        """As WSGI asks."""
        body = self._sentence().encode()
        start_response("503 Service Unavailable", list(HEADERS.items()))
        return [body]

    def _sentence(self) -> str:
        sentence = say(HOW_TO_START)
        if not self._logged:
            self._logged = True
            logger.error(sentence)
        return sentence


class ForAnyServer:
    """`app` as ASGI, and the sentence for a server that calls it as WSGI."""

    def __init__(self, app: App, refusal: NotStarted) -> None:
        self._app = app
        self._refusal = refusal
        # Servers look at this attribute to tell ASGI from WSGI, and call the class's.
        vars(self)["__call__"] = self._serve

    def __call__(self, *asked: Any, **named: Any) -> Any:
        if len(asked) == 2 and not named:
            _, start_response = asked
            return self._refusal.refuse_wsgi(start_response)
        return self._serve(*asked, **named)

    async def _serve(self, scope: Scope, receive: Receive, send: Send) -> None:
        await self._app(scope, receive, send)
