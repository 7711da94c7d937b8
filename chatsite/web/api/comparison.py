"""The same turn under other policies, for the debug panel."""

from __future__ import annotations

from uuid import UUID

from django.http import HttpRequest, HttpResponse, JsonResponse
from django.views.decorators.http import require_POST

from chatsite.conversations.owners import Owner
from chatsite.conversations.path.queries import receipt_of
from chatsite.errors import BadCommand, NotFound
from chatsite.turns.context.drafts import Draft
from chatsite.turns.context.turn_context import PageRequest
from chatsite.web.api.requests import (
    MAX_QUERY,
    answers_errors,
    json_fields,
    model_name,
    storable,
    upload_ids,
)
from chatsite.web.people import is_staff, read_for, reading_owner, site_of
from chatsite.wording import say


@require_POST
@answers_errors
async def compare_draft(request: HttpRequest, id: UUID) -> HttpResponse:
    """The next message, from the page's `{query, draft, reply_to, attachments, model}`. A POST, so
    that drafts don't get into addresses and logs."""
    body = json_fields(request)
    owner = await reading_owner(request, str(id))
    page = await _page_request(request, body, owner=owner, conversation=str(id))
    reply_to = body.get("reply_to")
    try:
        reply_to = str(UUID(reply_to)) if reply_to else None
    except (ValueError, AttributeError, TypeError):
        raise BadCommand(say("reply_to is the id of a message.")) from None
    site, text = site_of(request), _text(body, "draft")
    attached = await site.drafts.attachments(page, upload_ids(body.get("attachments", [])))
    draft = Draft(text=text, reply_to=reply_to, attachments=attached)
    return JsonResponse(await site.comparison.of_draft(page, draft))


@require_POST
@answers_errors
async def compare_turn(request: HttpRequest, id: UUID) -> HttpResponse:
    """An answered turn, with the page's `{query}`."""
    site = site_of(request)
    owner, _ = await read_for(request, lambda owner: receipt_of(owner=owner, turn=str(id)))
    room = site.rooms.owned_by(owner)
    page = await _page_request(
        request, json_fields(request), owner=owner, conversation=room.conversation if room else ""
    )
    return JsonResponse(await site.comparison.of_turn(page, str(id)))


async def _page_request(
    request: HttpRequest, body: dict[str, object], *, owner: Owner, conversation: str
) -> PageRequest:
    site, staff = site_of(request), await is_staff(request)
    if not site.may_debug(staff=staff):
        raise NotFound(say("There is no such conversation."))
    query = _text(body, "query")
    if len(query) > MAX_QUERY:
        raise BadCommand(say("The page's address is too long."))
    return site.page_request(
        owner=owner,
        staff=staff,
        conversation=conversation,
        agent="",
        query=query,
        model=model_name(body.get("model", "")),
    )


def _text(body: dict[str, object], name: str) -> str:
    value = body.get(name, "")
    if not isinstance(value, str):
        raise BadCommand(say("{name} is not a text.", name=name))
    return storable(value)
