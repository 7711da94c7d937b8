"""Changes of single messages: their text, deleting and restoring them; and their versions."""

from __future__ import annotations

from uuid import UUID

from django.http import HttpRequest, HttpResponse, JsonResponse
from django.http.response import HttpResponseBase
from django.views.decorators.http import require_GET, require_http_methods, require_POST

from chatsite.conversations.copies import copy_path, read_for_copy
from chatsite.conversations.owners import Owner
from chatsite.conversations.versions import deletions, edits
from chatsite.conversations.versions.texts import version_text
from chatsite.conversations.versions.versions import show_version
from chatsite.errors import BadCommand
from chatsite.events import MessagesChanged, PathChanged, SummaryChanged
from chatsite.web.api.marks import mark_message
from chatsite.web.api.requests import answers_errors, json_fields, storable
from chatsite.web.people import read_for, request_owner, site_of
from chatsite.wiring.site import Site
from chatsite.wording import say


@require_http_methods(["PATCH", "DELETE"])
async def message(request: HttpRequest, id: UUID) -> HttpResponseBase:
    """PATCH marks it, DELETE hides it until it is removed for good, an hour later."""
    return await (delete_message if request.method == "DELETE" else mark_message)(request, id)


@answers_errors
async def delete_message(request: HttpRequest, id: UUID) -> HttpResponse:
    site, owner = site_of(request), await request_owner(request)
    change = await deletions.delete_message(owner=owner, message=str(id))
    return await _answer(site, owner, change)


@require_POST
@answers_errors
async def restore_message(request: HttpRequest, id: UUID) -> HttpResponse:
    site, owner = site_of(request), await request_owner(request)
    change = await deletions.restore_message(owner=owner, message=str(id))
    return await _answer(site, owner, change)


@require_http_methods(["PUT"])
@answers_errors
async def edit_message(request: HttpRequest, id: UUID) -> HttpResponse:
    """`{"text": "..."}` takes the place of its text; nothing is asked."""
    text = json_fields(request).get("text")
    if not isinstance(text, str):
        raise BadCommand(say("text is the new text of the message."))
    site, owner = site_of(request), await request_owner(request)
    change = await edits.edit_message(owner=owner, message=str(id), text=storable(text))
    return await _answer(site, owner, change)


@require_GET
@answers_errors
async def version(request: HttpRequest, id: UUID) -> HttpResponse:
    """The question and the answer that this version belongs to, also where it isn't on the path."""
    _, found = await read_for(request, lambda owner: version_text(owner=owner, message=str(id)))
    return JsonResponse(found.to_dict())


@require_POST
@answers_errors
async def show(request: HttpRequest, id: UUID) -> HttpResponse:
    """Put this version of a message on the path, with the newest branch below it; the response is
    its sequence number."""
    site, owner = site_of(request), await request_owner(request)
    changed = await show_version(owner=owner, message=str(id))
    if changed.below is not None:
        site.recaller.forget(changed.conversation)
        await _publish(site, owner, changed.conversation, PathChanged(below=changed.below))
    return JsonResponse({"seq": changed.seq})


@require_POST
@answers_errors
async def copy(request: HttpRequest, id: UUID) -> HttpResponse:
    """`{"conversation": "<new id>"}`: the path up to this message as a new conversation with this
    id; the same request again has the same result."""
    try:
        new = str(UUID(json_fields(request).get("conversation")))
    except (ValueError, TypeError, AttributeError):
        raise BadCommand(say("conversation is the id of the new conversation.")) from None
    owner = await request_owner(request)
    path = await read_for_copy(owner=owner, message=str(id))
    made = await copy_path(owner=owner, copy=path, id=new)
    return JsonResponse({"conversation": made.to_dict()})


async def _answer(site: Site, owner: Owner, change: edits.TextChange) -> HttpResponse:
    """Tell all pages; the response is the event that they get."""
    site.recaller.forget(change.conversation)
    await site.cache.drop(change.conversation)
    event = PathChanged(below=change.below) if change.below is not None else change.changed
    await _publish(site, owner, change.conversation, event)
    return JsonResponse(event.to_dict())


async def _publish(
    site: Site, owner: Owner, conversation: str, event: PathChanged | MessagesChanged
) -> None:
    site.trim_ahead.changed(conversation)
    site.feeds.publish(conversation, event)
    state = await site.summariser.state(owner, conversation)
    site.feeds.publish(conversation, SummaryChanged(summary=state.view))
