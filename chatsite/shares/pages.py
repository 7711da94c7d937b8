"""The public pages of links, which know no session (`strangers`), and their owner's requests."""

from __future__ import annotations

import asyncio
from uuid import UUID

from django.http import HttpRequest, HttpResponse, JsonResponse
from django.http.response import HttpResponseBase
from django.template.loader import render_to_string
from django.views.decorators.csrf import csrf_exempt
from django.views.decorators.http import require_safe

from chatsite.conversations.files.uploads import find_upload
from chatsite.errors import BadCommand, NotFound, Refused
from chatsite.shares import links
from chatsite.shares.reading import shared_file, shared_page
from chatsite.shares.rendering import message_fields
from chatsite.web.api.files import SAFE_HEADERS, answer_file
from chatsite.web.api.requests import json_fields, takes
from chatsite.web.people import request_owner, site_of
from chatsite.wording import say

ALWAYS = {
    "X-Robots-Tag": "noindex, nofollow, noarchive",
    "Referrer-Policy": "no-referrer",
    "Cache-Control": "private, no-store",
}
# Without an origin of its own the page is nobody of this site, whatever a message brings along.
PAGE_HEADERS = ALWAYS | {
    "Content-Security-Policy": (
        "default-src 'none'; style-src 'self'; img-src 'self'; base-uri 'none'; "
        "form-action 'none'; frame-ancestors 'none'; "
        "sandbox allow-downloads allow-popups allow-popups-to-escape-sandbox"
    )
}
FILE_HEADERS = SAFE_HEADERS | ALWAYS | {"Cross-Origin-Resource-Policy": "cross-origin"}


@csrf_exempt
@require_safe
async def shared(request: HttpRequest, token: str) -> HttpResponse:
    """Show a page of the messages, `?page=` from 1."""
    number = request.GET.get("page", "1")[:6]
    try:
        found = await shared_page(token, int(number) if number.isdecimal() else 0)
    except NotFound:
        return _gone()
    slug = found.share.conversation.agent
    known = site_of(request).agents.describe(slug, staff=False)
    agent = str(known["name"]) if known else slug
    fields = {"shared": found, "token": token, "agent": agent}
    fields["messages"] = message_fields(found, agent=agent)
    # Without the request, whose context would bring a session along.
    html = await asyncio.to_thread(render_to_string, "shares/shared.html", fields)
    return HttpResponse(html, headers=PAGE_HEADERS)


@csrf_exempt
@require_safe
async def shared_upload(
    request: HttpRequest, token: str, seq: int, number: int
) -> HttpResponseBase:
    try:
        owner, file = await shared_file(token, seq, number)
        attachment = await find_upload(owner, id=file.id)
        return await answer_file(request, attachment, FILE_HEADERS)
    except (NotFound, Refused):
        return _gone()


def _gone() -> HttpResponse:
    """The one answer for what never was a link and for what isn't one any more."""
    return HttpResponse(render_to_string("shares/gone.html"), status=404, headers=PAGE_HEADERS)


@takes("GET", "POST")
async def shares(request: HttpRequest, id: UUID) -> HttpResponse:
    """GET lists a conversation's live links. POST makes one: `days` (7), and `following`,
    `receipts`, `tools`, `files` (false)."""
    owner = await request_owner(request)
    if request.method == "GET":
        return JsonResponse(await links.shares_of(owner, conversation=str(id)))
    wish = {"days": 7, **_wish(request)}
    return JsonResponse({"share": await links.make_share(owner, conversation=str(id), wish=wish)})


@takes("PATCH", "DELETE")
async def share(request: HttpRequest, id: UUID) -> HttpResponse:
    """PATCH changes what is said: `days` from now, or a tick. DELETE takes the link back."""
    owner = await request_owner(request)
    if request.method == "DELETE":
        await links.take_back(owner, id=id)
        return JsonResponse({"taken_back": str(id)})
    return JsonResponse({"share": await links.change_share(owner, id=id, wish=_wish(request))})


def _wish(request: HttpRequest) -> links.Wish:
    body = json_fields(request)
    wish = {name: body[name] for name in ("days", *links.TICKS) if name in body}
    if "days" in wish and (type(wish["days"]) is not int or wish["days"] not in links.DAYS):
        raise BadCommand(say("A link lasts for {days} days.", days=", ".join(map(str, links.DAYS))))
    if not all(isinstance(on, bool) for name, on in wish.items() if name != "days"):
        raise BadCommand(say("{names} are true or false.", names=", ".join(links.TICKS)))
    return wish
