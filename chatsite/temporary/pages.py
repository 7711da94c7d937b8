"""The page's requests about a temporary chat: close it, keep it."""

from __future__ import annotations

from uuid import UUID

from django.http import HttpRequest, HttpResponse, JsonResponse

from chatsite.events import Kept
from chatsite.temporary.chats import keep_chat, require_own_temporary
from chatsite.web.api.requests import takes
from chatsite.web.people import request_owner, site_of


@takes("POST")
async def close(request: HttpRequest, id: UUID) -> HttpResponse:
    """Erases a temporary chat. One of which nothing is stored is closed, too."""
    owner = await request_owner(request)
    await require_own_temporary(owner=owner, conversation=str(id))
    await site_of(request).temporary.close(owner, str(id))
    return JsonResponse({"closed": str(id)})


@takes("POST")
async def keep(request: HttpRequest, id: UUID) -> HttpResponse:
    """Makes a temporary chat an ordinary one."""
    kept = await keep_chat(owner=await request_owner(request), conversation=str(id))
    site_of(request).feeds.publish(str(id), Kept())
    return JsonResponse({"conversation": kept.to_dict()})
