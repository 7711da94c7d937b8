"""Which models the page may offer for an agent."""

from __future__ import annotations

from django.http import HttpRequest, HttpResponse, JsonResponse
from django.views.decorators.http import require_GET

from chatsite.web.api.conversations import answers_errors, sound
from chatsite.web.people import is_staff, site_of


@require_GET
@answers_errors
async def models(request: HttpRequest) -> HttpResponse:
    """`?agent=<slug>`. `looking`: servers on this machine are being asked right now, so that the
    list may be longer in a moment."""
    agent = sound(request.GET.get("agent", "")[:64])
    found = site_of(request).agents.choices(agent, staff=await is_staff(request))
    return JsonResponse(found)
