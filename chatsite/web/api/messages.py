"""Changes of single messages: their text, deleting and restoring them; and their versions."""

from __future__ import annotations

from typing import TypeGuard
from uuid import UUID

from django.http import HttpRequest, HttpResponse, JsonResponse

from chatsite.conversations.copies import copy_path, read_for_copy
from chatsite.conversations.path.forgetting_trace import questions_since, trace_message
from chatsite.conversations.path.marks import (
    MarkChange,
    bookmark_message,
    dismiss_offer_of_message,
    exclude_message,
    forget_above_message,
    forget_everything,
    keep_in_force_message,
    keep_whole,
    leave_unanswered_message,
    pin_message,
)
from chatsite.conversations.versions import deletions, edits
from chatsite.conversations.versions.edits import version_text
from chatsite.conversations.versions.versions import show_version
from chatsite.errors import BadCommand, ChatsiteError
from chatsite.events import CacheChanged, PathChanged, SummaryChanged
from chatsite.history.receipts.forgetting import explain_forgetting
from chatsite.web.api.requests import (
    MAX_QUERY,
    json_fields,
    model_name,
    replied_id,
    storable,
    takes,
    upload_ids,
)
from chatsite.web.people import is_staff, read_for, request_owner, site_of
from chatsite.wiring.site import Site
from chatsite.wording import say

MARKS = {
    "pinned": pin_message,
    "excluded": exclude_message,
    "bookmarked": bookmark_message,
    "in_force": keep_in_force_message,
    "no_offer": dismiss_offer_of_message,
    "forget_above": forget_above_message,
    "unanswered": leave_unanswered_message,
}
MAX_DRAFT = 2000
# What gave way is brought back in one request. The database's numbers have 31 bits.
MOST_KEPT, LARGEST_SEQ = 10_000, 2**31 - 1


async def _mark_message(request: HttpRequest, id: UUID) -> HttpResponse:
    """Reads `{"pinned": true}`, or one of the other marks. The response is the event that pages
    get."""
    body = json_fields(request)
    if len(body) != 1 or not isinstance(on := next(iter(body.values())), bool):
        raise BadCommand(say("One mark is needed, true or false: {marks}.", marks=", ".join(MARKS)))
    name = next(iter(body))
    if name not in MARKS:
        raise BadCommand(say("There is no such mark; there are {marks}.", marks=", ".join(MARKS)))
    site, owner = site_of(request), await request_owner(request)
    change = await MARKS[name](owner=owner, message=str(id), on=on)
    return await _tell(site, change, forgets=name == "forget_above" and on)


@takes("POST")
async def forget(request: HttpRequest, id: UUID) -> HttpResponse:
    """Forgets all above the newest exchange, or remembers everything again: `{"on": true}`."""
    on = json_fields(request).get("on")
    if not isinstance(on, bool):
        raise BadCommand(say("on is true or false."))
    owner = await request_owner(request)
    change = await forget_everything(owner=owner, conversation=str(id), on=on)
    return await _tell(site_of(request), change, forgets=on)


async def _tell(site: Site, change: MarkChange, *, forgets: bool) -> HttpResponse:
    if forgets:
        # The cells below the marker were computed after the messages above it.
        await site.cache.drop(change.conversation)
    site.trim_ahead.changed(change.conversation)
    site.feeds.publish(change.conversation, change.marked)
    if change.summary is not None:
        site.feeds.publish(change.conversation, SummaryChanged(summary=change.summary))
    if change.status:
        site.feeds.publish(change.conversation, CacheChanged(status=change.status))
    return JsonResponse(change.marked.to_dict())


@takes("POST")
async def kept_whole(request: HttpRequest, id: UUID) -> HttpResponse:
    """Lets results and texts of files of the conversation never give way, or again: `{"messages":
    [3, 7], "on": true}`, sequence numbers. All of them are marked, or none."""
    body = json_fields(request)
    on, seqs = body.get("on"), body.get("messages")
    if not isinstance(on, bool) or not _are_seqs(seqs):
        raise BadCommand(
            say(
                "messages is a list of up to {most:,} sequence numbers, on is true or false.",
                most=MOST_KEPT,
            )
        )
    site, owner = site_of(request), await request_owner(request)
    marked = await keep_whole(owner=owner, conversation=str(id), messages=seqs, on=on)
    site.trim_ahead.changed(str(id))
    for one in marked:
        site.feeds.publish(str(id), one)
    return JsonResponse({"messages": len(marked)})


def _are_seqs(given: object) -> TypeGuard[list[int]]:
    return (
        isinstance(given, list)
        and len(given) <= MOST_KEPT
        and all(type(seq) is int and 0 < seq <= LARGEST_SEQ for seq in given)
    )


@takes("GET")
async def why_forgotten(request: HttpRequest, id: UUID) -> HttpResponse:
    """Explains why a message is or isn't sent. `query` is the page's query string; `draft`,
    `reply_to` and `attachment` (repeated) are the draft. `model` is the page's choice as
    `provider:name`, "" for the agent's own; without the parameter it is the conversation's."""
    query, draft = (storable(request.GET.get(name, "")) for name in ("query", "draft"))
    if len(query) > MAX_QUERY or len(draft) > MAX_DRAFT:
        raise BadCommand(say("The page's address or the draft is too long for this question."))
    reply_to = replied_id(request.GET.get("reply_to"))
    attached = upload_ids(request.GET.getlist("attachment"))
    chosen = model_name(request.GET["model"]) if "model" in request.GET else None
    site = site_of(request)
    owner, found = await read_for(
        request, lambda owner: trace_message(owner=owner, message=str(id))
    )
    page = site.page_request(
        owner=owner,
        staff=await is_staff(request),
        conversation=found.conversation,
        agent=found.agent,
        query=query,
        model=found.model if chosen is None else chosen,
    )
    coming, problem = None, ""
    try:
        coming = await site.drafts.preview(page, draft, reply_to=reply_to, attachments=attached)
    except ChatsiteError as error:
        problem = error.message
    trail = await questions_since(found=found, coming=coming)
    explanation = explain_forgetting(
        found.seq, trail=trail, coming=coming, problem=problem, pinned=found.pinned
    )
    return JsonResponse(explanation.to_dict() | {"message": str(id), "excluded": found.excluded})


@takes("PATCH", "DELETE")
async def message(request: HttpRequest, id: UUID) -> HttpResponse:
    """PATCH marks the message, DELETE hides it until it is removed for good, an hour later."""
    if request.method == "PATCH":
        return await _mark_message(request, id)
    site, owner = site_of(request), await request_owner(request)
    change = await deletions.delete_message(owner=owner, message=str(id))
    return JsonResponse((await site.tell_text_change(owner, change)).to_dict())


@takes("POST")
async def restore_message(request: HttpRequest, id: UUID) -> HttpResponse:
    site, owner = site_of(request), await request_owner(request)
    change = await deletions.restore_message(owner=owner, message=str(id))
    return JsonResponse((await site.tell_text_change(owner, change)).to_dict())


@takes("PUT")
async def edit_message(request: HttpRequest, id: UUID) -> HttpResponse:
    """Puts `{"text": "..."}` in the place of the message's text; nothing is asked."""
    text = json_fields(request).get("text")
    if not isinstance(text, str):
        raise BadCommand(say("text is the new text of the message."))
    site, owner = site_of(request), await request_owner(request)
    change = await edits.edit_message(owner=owner, message=str(id), text=storable(text))
    return JsonResponse((await site.tell_text_change(owner, change)).to_dict())


@takes("GET")
async def version(request: HttpRequest, id: UUID) -> HttpResponse:
    """Gives the question and the answer that this version belongs to, on the path or not."""
    _, found = await read_for(request, lambda owner: version_text(owner=owner, message=str(id)))
    return JsonResponse(found.to_dict())


@takes("POST")
async def show(request: HttpRequest, id: UUID) -> HttpResponse:
    """Puts this version of a message on the path, with the newest branch below it. The response is
    its sequence number."""
    site, owner = site_of(request), await request_owner(request)
    changed = await show_version(owner=owner, message=str(id))
    if changed.below is not None:
        site.recaller.forget(changed.conversation)
        event = PathChanged(below=changed.below)
        await site.tell_path_change(owner, changed.conversation, event)
    return JsonResponse({"seq": changed.seq})


@takes("POST")
async def copy(request: HttpRequest, id: UUID) -> HttpResponse:
    """Copies the path up to this message to a new conversation: `{"conversation": "<new id>"}`. The
    same request again has the same result."""
    try:
        new = str(UUID(json_fields(request).get("conversation")))
    except (ValueError, TypeError, AttributeError):
        raise BadCommand(say("conversation is the id of the new conversation.")) from None
    owner = await request_owner(request)
    path = await read_for_copy(owner=owner, message=str(id))
    made = await copy_path(owner=owner, copy=path, id=new)
    return JsonResponse({"conversation": made.to_dict()})
