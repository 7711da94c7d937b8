"""The running summary of a conversation: reading, editing, switching off and on."""

from __future__ import annotations

from uuid import UUID

from django.http import HttpRequest, HttpResponse, JsonResponse
from django.views.decorators.http import require_http_methods, require_POST

from chatsite.conversations.path.queries import agent_of
from chatsite.conversations.summaries.queries import summary_versions
from chatsite.errors import BadCommand
from chatsite.web.api.requests import MAX_QUERY, answers_errors, json_fields, storable
from chatsite.web.people import is_staff, reading_owner, request_owner, site_of
from chatsite.wording import say

MAX_CHARACTERS = 50_000


@require_http_methods(["GET", "POST"])
@answers_errors
async def summary(request: HttpRequest, id: UUID) -> HttpResponse:
    """GET: the versions. POST `{"version": 3, "text": "..."}`: a new version with this text and the
    coverage of version 3; without a text it has the text of version 3, too. `query` is the page's
    query string, which determines how long a summary may be."""
    site, owner, conversation = site_of(request), await request_owner(request), str(id)
    if request.method == "POST":
        body = json_fields(request)
        version, text = _edit(body)
        page = site.page_request(
            owner=owner,
            staff=await is_staff(request),
            conversation=conversation,
            agent=await agent_of(owner=owner, conversation=conversation),
            query=_query(body),
        )
        context = await site.drafts.context(page)
        await site.summariser.rewrite(context, version=version, text=text)
    else:
        owner = await reading_owner(request, conversation)
    found = await summary_versions(owner=owner, conversation=conversation)
    return JsonResponse(found.to_dict())


@require_POST
@answers_errors
async def switch(request: HttpRequest, id: UUID) -> HttpResponse:
    """POST `{"on": false}`."""
    on = json_fields(request).get("on")
    if not isinstance(on, bool):
        raise BadCommand(say("on is true or false."))
    site, owner, conversation = site_of(request), await request_owner(request), str(id)
    await site.summariser.switch(owner=owner, conversation=conversation, on=on)
    found = await summary_versions(owner=owner, conversation=conversation)
    return JsonResponse(found.to_dict())


def _query(body: dict[str, object]) -> str:
    query = body.get("query", "")
    if not isinstance(query, str) or len(query) > MAX_QUERY:
        raise BadCommand(
            say("query is the page's own, at most {max_query:,} characters.", max_query=MAX_QUERY)
        )
    return storable(query)


def _edit(body: dict[str, object]) -> tuple[int, str | None]:
    version, text = body.get("version"), body.get("text")
    # In Python true is a number, too.
    if not isinstance(version, int) or isinstance(version, bool) or not 0 < version < 10**9:
        raise BadCommand(say("version is the number of the version that is edited."))
    if text is None:
        return version, None
    if not isinstance(text, str) or not text.strip():
        raise BadCommand(say("A summary needs some words. To send none, switch it off."))
    if len(text) > MAX_CHARACTERS:
        raise BadCommand(
            say(
                "This summary has {text:,} characters; {max_characters:,} are allowed. Your "
                "text is kept; shorten it.",
                text=len(text),
                max_characters=MAX_CHARACTERS,
            )
        )
    return version, storable(text.strip())
