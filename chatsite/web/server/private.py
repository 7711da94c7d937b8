"""What holds for every answer of Django's: nobody on the way keeps it."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from asgiref.sync import markcoroutinefunction
from django.http import HttpRequest
from django.http.response import HttpResponseBase

KEPT_NOWHERE = "private, no-store"


class Private:
    """A middleware: pages and data of a person are kept neither by a proxy nor, once they have
    signed out, by the browser."""

    sync_capable = False
    async_capable = True

    def __init__(self, get_response: Callable[[HttpRequest], Awaitable[HttpResponseBase]]) -> None:
        self._get_response = get_response
        markcoroutinefunction(self)

    async def __call__(self, request: HttpRequest) -> HttpResponseBase:
        response = await self._get_response(request)
        response.headers.setdefault("Cache-Control", KEPT_NOWHERE)
        return response
