"""In front of shared pages: whoever opens one is a stranger there, and no log has its address."""

from __future__ import annotations

import logging
import re

from chatsite.asgi_types import Front, Receive, Scope, Send

_ADDRESS = re.compile(r"(/shared/)[^\s/?\"']+")


class Strangers(Front):
    """An ASGI application in front of all that knows people. A request for a shared page goes on
    without cookies, so that no session is loaded and none is made."""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["path"].startswith("/shared/"):
            scope = {**scope, "headers": [one for one in scope["headers"] if one[0] != b"cookie"]}
        await self._app(scope, receive, send)


class NoTokens(logging.Filter):
    """Filters a handler's lines: Django names the address of each request that it refuses, and a
    link's address opens it."""

    def filter(self, record: logging.LogRecord) -> bool:
        record.msg, record.args = _ADDRESS.sub(r"\1…", record.getMessage()), ()
        return True
