"""What a request meets before Django answers it: limits, the check of its form, a kept thread."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import IO, Any, cast

from asgiref.sync import ThreadSensitiveContext
from django.conf import settings
from django.core.exceptions import BadRequest
from django.core.handlers.asgi import ASGIHandler, ASGIRequest
from django.http import HttpRequest, HttpResponse
from django.http.request import RawPostDataException
from django.http.response import HttpResponseBase
from django.shortcuts import render
from django.urls import Resolver404, resolve

from chatsite.asgi_types import App, Front, Receive, Scope, Send, header
from chatsite.errors import TooMany
from chatsite.limits.limiter import Limiter, address_of
from chatsite.limits.table import ADMIN_ROUTE, NOWHERE, ROUTES, STATIC, Route
from chatsite.web.people import known_person, site_of
from chatsite.web.server.responses import KEPT_NOWHERE, AsyncMiddleware
from chatsite.wording import later, say

STATIC_ROUTE = Route(STATIC)
WITHOUT_BODY = ("GET", "HEAD", "OPTIONS")


def route_of(path: str) -> Route:
    """Finds the row of the table for an address. Raises KeyError for a route that has none."""
    if path.startswith(settings.STATIC_URL):
        return STATIC_ROUTE
    try:
        match = resolve(path)
    except Resolver404:
        return NOWHERE
    return ADMIN_ROUTE if "admin" in match.namespaces else ROUTES[str(match.url_name)]


class AddressLimits(Front):
    """An ASGI application in front of Django. It notes the route's row as `chatsite.route`, and 0
    as its largest body where the method has none."""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        route = route_of(scope["path"])
        limiter: Limiter = scope["state"]["site"].limiter
        try:
            await limiter.take(route.rate, address=address_of(scope))
        except TooMany as error:
            status, headers, body = refusal(error, accept=header(scope, b"accept"))
            await send({"type": "http.response.start", "status": status, "headers": headers})
            await send({"type": "http.response.body", "body": body})
            return
        if scope["method"] in WITHOUT_BODY:
            route = Route(route.rate)
        await self._app({**scope, "chatsite.route": route}, receive, send)


class PersonLimits(AsyncMiddleware):
    """Counts a request for the account or the guest that it comes from."""

    async def __call__(self, request: HttpRequest) -> HttpResponseBase:
        owner = await known_person(request)
        if owner is not None:
            route: Route = cast(Any, request).scope["chatsite.route"]
            try:
                await site_of(request).limiter.take(route.rate, person=owner.key)
            except TooMany as error:
                return too_many(request, error)
        return await self._get_response(request)

    def process_exception(self, request: HttpRequest, error: Exception) -> HttpResponse | None:
        """Answers for a view that was over a limit of its own."""
        return too_many(request, error) if isinstance(error, TooMany) else None


def too_many(request: HttpRequest, error: TooMany) -> HttpResponse:
    """Answers 429 with the time to wait: as a page, or as JSON for a page's script."""
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


# Each has a connection with up to 2 MB of SQLite's cache.
THREADS = 16


class RequestThreads(Front):
    """An ASGI application in front of Django: all calls of a request run on one kept thread.

    Django by itself makes a thread, and with it a database connection, for every request: a third
    of what the page costs. A request gets the thread that the fewest requests have, so that up to
    16 at once have one each, and one that waits for its client (a slow body, a slow download) keeps
    nobody from anything: a thread is busy only while a call runs.

    Where two requests have the same thread, their calls take turns on it, whole calls one after the
    other. A transaction begins and ends within one call, since Django has none in asynchronous
    code; so two transactions never meet on a connection.
    """

    def __init__(self, app: App) -> None:
        super().__init__(app)
        # A thread is started with its first call, not before.
        self._requests = {
            ThreadPoolExecutor(1, thread_name_prefix=f"request-{number}"): 0
            for number in range(THREADS)
        }

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        thread = min(self._requests, key=self._requests.__getitem__)
        self._requests[thread] += 1
        try:
            async with ThreadSensitiveContext(executor=thread):
                await self._app(scope, receive, send)
        finally:
            self._requests[thread] -= 1


UNREADABLE = later("This request can't be read: its header Content-Type is not allowed.")
NO_UTF8 = later("This request can't be read: its address isn't UTF-8.")
TOO_MANY_FIELDS = later("This request can't be read: its address has too many fields.")
TOKEN = rb"[!#$%&'+.^_`|~0-9A-Za-z-]+"  # without *, which begins an encoding of the value
# RFC 2046, without the blank.
BOUNDARY = rb"[0-9A-Za-z'()+_,./:=?-]{1,70}"
# What no other value may name: a codec of Python's, or where the parts of a form begin.
PARAMETER = (
    rb'[ \t]*;[ \t]*(?:charset=(?:utf-?8|"utf-?8")'
    rb'|boundary=(?:"' + BOUNDARY + rb'"|' + BOUNDARY + rb")"
    rb"|(?!charset=|boundary=)" + TOKEN + rb"=(?:" + TOKEN + rb'|"[ !#-\[\]-~]*"))'
)
CONTENT_TYPE = re.compile(
    rb"(?:(?!multipart/)" + TOKEN + rb"/" + TOKEN + rb"(?:" + PARAMETER + rb")*"
    rb"|multipart/" + TOKEN + rb"(?=[^\"]*;[ \t]*boundary=)(?:" + PARAMETER + rb")+)?[ \t;]*",
    re.IGNORECASE,
)


class ReadableRequest(ASGIRequest):
    """A request whose form, if it can't be read, is its sender's mistake: the parts of a form name
    codecs too."""

    def _load_post_and_files(self) -> None:
        try:
            super()._load_post_and_files()
        except (LookupError, ValueError) as error:
            cast(Any, self)._mark_post_parse_error()
            raise BadRequest("A form that can't be read") from error

    @property
    def body(self) -> bytes:
        try:
            return super().body
        except RawPostDataException as error:  # it was read as a form
            raise BadRequest("A form where none is taken") from error


class Pages(ASGIHandler):
    """Django, for requests that it can read."""

    request_class = ReadableRequest

    def create_request(
        self, scope: Mapping[str, Any], body_file: IO[bytes]
    ) -> tuple[ASGIRequest, None] | tuple[None, HttpResponseBase]:
        if wrong := unreadable(scope):
            body = json.dumps({"code": "unreadable", "message": wrong})
            headers = {"Cache-Control": KEPT_NOWHERE, "Content-Type": "application/json"}
            return None, HttpResponse(body, status=400, headers=headers)
        return super().create_request(scope, body_file)


def unreadable(scope: Mapping[str, Any]) -> str:
    """Says what is wrong with a request; "" if it can be read."""
    query: bytes = scope["query_string"]
    if query:
        if query.count(b"&") >= (settings.DATA_UPLOAD_MAX_NUMBER_FIELDS or len(query)):
            return say(TOO_MANY_FIELDS)
        try:
            query.decode()
        except UnicodeDecodeError:
            return say(NO_UTF8)
    found = [value for name, value in scope["headers"] if name == b"content-type"]
    if found and (len(found) > 1 or not CONTENT_TYPE.fullmatch(found[0])):
        return say(UNREADABLE)
    return ""
