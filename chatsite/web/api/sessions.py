"""The session of a new guest: the page asks for one before it opens its socket."""

from __future__ import annotations

from django.http import HttpRequest, HttpResponse
from django.views.decorators.http import require_POST

from chatsite.web.api.requests import answers_errors
from chatsite.web.people import open_session


@require_POST
@answers_errors
async def session(request: HttpRequest) -> HttpResponse:
    await open_session(request)
    return HttpResponse(status=204)
