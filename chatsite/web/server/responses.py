"""What holds for every response of Django's: nobody on the way keeps it, some are compressed, and a
refusal is one line in the log."""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable
from typing import Any, cast

from asgiref.sync import markcoroutinefunction, sync_to_async
from django.http import HttpRequest
from django.http.response import HttpResponseBase
from django.middleware.gzip import GZipMiddleware
from django.utils.cache import patch_vary_headers

KEPT_NOWHERE = "private, no-store"
# Nothing of the address is mirrored in these pages, and no secret is in them.
PAGES = ("chat", "conversation-page")
# Django's log escapes with it, and Python would load it with the first refused request: from a
# file, also when none can be opened.
"".encode("unicode_escape")


class AsyncMiddleware:
    """A middleware of the event loop."""

    sync_capable = False
    async_capable = True

    def __init__(self, get_response: Callable[[HttpRequest], Awaitable[HttpResponseBase]]) -> None:
        self._get_response = get_response
        markcoroutinefunction(cast(Any, self))


class Private(AsyncMiddleware):
    """Lets pages and data of a person be kept neither by a proxy nor, once they have signed out, by
    the browser."""

    async def __call__(self, request: HttpRequest) -> HttpResponseBase:
        response = await self._get_response(request)
        response.headers.setdefault("Cache-Control", KEPT_NOWHERE)
        return response


class Compression(GZipMiddleware):
    """gzip for the chat page, and for JSON that a page of this site asks for. SECURITY.md says how
    BREACH is kept out."""

    async def __acall__(self, request: HttpRequest) -> HttpResponseBase:
        response = await cast(Any, self.get_response)(request)
        if may_be_compressed(request, response):
            # Beside the event loop: a long conversation takes milliseconds.
            response = await sync_to_async(self.process_response)(request, response)
        return cast(HttpResponseBase, response)


def may_be_compressed(request: HttpRequest, response: HttpResponseBase) -> bool:
    kind = response.headers.get("Content-Type", "").partition(";")[0]
    if response.streaming or response.status_code != 200:
        return False
    if kind == "application/json":
        # The browser says so itself, and no script can: another site's requests, from which the
        # length of an answer could be learnt, are answered without compression.
        patch_vary_headers(response, ("Sec-Fetch-Site",))
        return request.headers.get("Sec-Fetch-Site") == "same-origin"
    match = request.resolver_match
    return kind == "text/html" and match is not None and match.url_name in PAGES


class OneLine(logging.Filter):
    """Filters a handler's lines: a refused request gets no traceback, since anybody could fill the
    log with them. Our own errors keep their tracebacks."""

    def filter(self, record: logging.LogRecord) -> bool:
        refused = getattr(record, "status_code", 500) < 500
        if refused and record.name.startswith("django."):
            record.exc_info = record.exc_text = None
            if record.levelno > logging.WARNING:
                record.levelno, record.levelname = logging.WARNING, "WARNING"
        return True
