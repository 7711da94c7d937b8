"""Marks on single messages, and "Why did it forget?"."""

from __future__ import annotations

from uuid import UUID

from django.http import HttpRequest, HttpResponse, JsonResponse
from django.views.decorators.http import require_GET, require_http_methods

from chatsite.conversations.path.forgetting_trace import questions_since, trace_message
from chatsite.conversations.path.marks import (
    bookmark_message,
    exclude_message,
    forget_above_message,
    leave_unanswered_message,
    pin_message,
)
from chatsite.errors import BadCommand, ChatsiteError
from chatsite.events import CacheChanged, SummaryChanged
from chatsite.history.records.forgetting import explain_forgetting
from chatsite.web.api.requests import (
    MAX_QUERY,
    answers_errors,
    json_fields,
    model_name,
    storable,
    upload_ids,
)
from chatsite.web.people import is_staff, read_for, request_owner, site_of
from chatsite.wording import say

MARKS = {
    "pinned": pin_message,
    "excluded": exclude_message,
    "bookmarked": bookmark_message,
    "forget_above": forget_above_message,
    "unanswered": leave_unanswered_message,
}
MAX_DRAFT = 2000


@require_http_methods(["PATCH"])
@answers_errors
async def mark_message(request: HttpRequest, id: UUID) -> HttpResponse:
    """`{"pinned": true}`, or one of the other marks; the response is the event that pages get."""
    body = json_fields(request)
    if len(body) != 1 or not isinstance(on := next(iter(body.values())), bool):
        raise BadCommand(say("One mark is needed, true or false: {marks}.", marks=", ".join(MARKS)))
    name = next(iter(body))
    if name not in MARKS:
        raise BadCommand(say("There is no such mark; there are {marks}.", marks=", ".join(MARKS)))
    site, owner = site_of(request), await request_owner(request)
    change = await MARKS[name](owner=owner, message=str(id), on=on)
    if name == "forget_above" and on:
        # The cells below the marker were computed after the messages above it.
        await site.cache.drop(change.conversation)
    site.trim_ahead.changed(change.conversation)
    site.feeds.publish(change.conversation, change.marked)
    if change.summary is not None:
        site.feeds.publish(change.conversation, SummaryChanged(summary=change.summary))
    if change.status:
        site.feeds.publish(change.conversation, CacheChanged(status=change.status))
    return JsonResponse(change.marked.to_dict())


@require_GET
@answers_errors
async def why_forgotten(request: HttpRequest, id: UUID) -> HttpResponse:
    """Why a message is or isn't sent. `query` is the page's query string; `draft`, `reply_to` and
    `attachment` (repeated) are the draft. `model` is the page's choice as `provider:name`, "" for
    the agent's own; without the parameter it is the conversation's."""
    query, draft = (storable(request.GET.get(name, "")) for name in ("query", "draft"))
    if len(query) > MAX_QUERY or len(draft) > MAX_DRAFT:
        raise BadCommand(say("The page's address or the draft is too long for this question."))
    try:
        reply_to = str(UUID(said)) if (said := request.GET.get("reply_to", "")) else None
    except ValueError:
        raise BadCommand(say("reply_to is the id of a message.")) from None
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
