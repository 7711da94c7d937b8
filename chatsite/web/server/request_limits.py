"""Counts requests by address before anything of them is read, and by person once that is known."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable

from asgiref.sync import markcoroutinefunction
from django.conf import settings
from django.http import HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import render
from django.urls import Resolver404, resolve

from chatsite.asgi_types import App, Receive, Scope, Send
from chatsite.errors import TooMany
from chatsite.limits.addresses import address_of
from chatsite.limits.limiter import Limiter
from chatsite.limits.table import ADMIN_ROUTE, NOWHERE, ROUTES, STATIC, Route
from chatsite.web.people import known_person, site_of
from chatsite.web.server.responses import KEPT_NOWHERE

STATIC_ROUTE = Route(STATIC)
WITHOUT_BODY = ("GET", "HEAD", "OPTIONS")


def route_of(path: str) -> Route:
    """The row of the table for an address. Raises KeyError for a route that has none."""
    if path.startswith(settings.STATIC_URL):
        return STATIC_ROUTE
    try:
        match = resolve(path)
    except Resolver404:
        return NOWHERE
    return ADMIN_ROUTE if "admin" in match.namespaces else ROUTES[str(match.url_name)]


class AddressLimits:
    """An ASGI application in front of Django. It notes the route's row as `chatsite.route`, and 0
    as its largest body where the method has none."""

    def __init__(self, app: App) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        route = route_of(scope["path"])
        limiter: Limiter = scope["state"]["site"].limiter
        try:
            limiter.take(route.rate, address=address_of(scope))
        except TooMany as error:
            status, headers, body = refusal(error, accept=_accept(scope))
            await send({"type": "http.response.start", "status": status, "headers": headers})
            await send({"type": "http.response.body", "body": body})
            return
        if scope["method"] in WITHOUT_BODY:
            route = Route(route.rate)
        await self._app({**scope, "chatsite.route": route}, receive, send)


class PersonLimits:
    """A middleware: counts a request for the account or the guest that it comes from."""

    sync_capable = False
    async_capable = True

    def __init__(self, get_response: Callable[[HttpRequest], Awaitable[HttpResponseBase]]) -> None:
        self._get_response = get_response
        markcoroutinefunction(self)

    async def __call__(self, request: HttpRequest) -> HttpResponseBase:
        owner = await known_person(request)
        if owner is not None:
            try:
                site_of(request).limiter.take(_route(request).rate, person=owner.key)
            except TooMany as error:
                return too_many(request, error)
        return await self._get_response(request)

    def process_exception(self, request: HttpRequest, error: Exception) -> HttpResponse | None:
        """A view was over a limit of its own."""
        return too_many(request, error) if isinstance(error, TooMany) else None


def too_many(request: HttpRequest, error: TooMany) -> HttpResponse:
    """429 with the time to wait: a page, or JSON for a page's script."""
    accept = request.headers.get("accept", "")
    if "text/html" in accept:
        response = render(request, "429.html", {"message": error.message}, status=429)
        response["Retry-After"] = str(error.seconds)
        return response
    status, headers, body = refusal(error, accept=accept)
    return HttpResponse(
        body,
        status=status,
        headers={name.decode(): value.decode() for name, value in headers},
    )


def refusal(error: TooMany, *, accept: str) -> tuple[int, list[tuple[bytes, bytes]], bytes]:
    if "text/html" in accept:
        kind, body = b"text/plain; charset=utf-8", error.message
    else:
        said = {"code": error.code, "message": error.message, "seconds": error.seconds}
        kind, body = b"application/json", json.dumps(said)
    headers = [
        (b"content-type", kind),
        (b"retry-after", str(error.seconds).encode()),
        (b"cache-control", KEPT_NOWHERE.encode()),
    ]
    return 429, headers, body.encode()


def _route(request: HttpRequest) -> Route:
    scope: Scope = request.scope  # type: ignore[attr-defined]
    route: Route = scope["chatsite.route"]
    return route


def _accept(scope: Scope) -> str:
    return ",".join(
        value.decode("latin-1") for name, value in scope["headers"] if name == b"accept"
    )
