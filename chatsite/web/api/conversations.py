"""The page's requests about conversations: list, rename, delete, export, receipts."""

from __future__ import annotations

import asyncio
from datetime import datetime
from uuid import UUID

from django.http import HttpRequest, HttpResponse, JsonResponse
from django.utils.text import slugify

from chatsite.conversations.arrangement import sidebar_groups
from chatsite.conversations.files.export import write_export, write_readable
from chatsite.conversations.lifecycle import (
    clear_conversation,
    delete_conversation,
    rename_conversation,
    undelete_conversation,
)
from chatsite.conversations.path.queries import (
    SHELVES,
    earlier_messages,
    list_conversations,
    receipt_of,
    whole_path,
)
from chatsite.conversations.search.filters import zone_named
from chatsite.conversations.search.text_search import bookmarked_messages, search_text
from chatsite.conversations.search.word_index import index_words, words_waiting
from chatsite.conversations.turn.receipts import (
    answer_usages,
    request_parts,
    requests_to_compare,
)
from chatsite.errors import BadCommand, NotFound
from chatsite.events import Cleared, Renamed
from chatsite.history import show_receipt
from chatsite.history.receipts.cache_miss import report_cache
from chatsite.turns.agents.resolved_agent import missing_agent
from chatsite.turns.answer.costs import picture_costs
from chatsite.turns.answer.sent_requests import rebuild_request
from chatsite.turns.context.file_forms import StoredFiles
from chatsite.web.api.arrangement import folder_name, forget_deleted
from chatsite.web.api.history import cleanup_strategy
from chatsite.web.api.requests import json_fields, storable, takes, time_in_utc
from chatsite.web.people import is_staff, read_for, reading_owner, request_owner, site_of
from chatsite.wording import later, say

# Each says what a parameter is, which has the name.
MESSAGE = later("{name} is the number of a message.")
SEARCH = later("{name} is what a page of a search gave as more.")
BOOKMARKS = later("{name} is what a page of bookmarks gave as more.")
# What can be read elsewhere: the ending of the file's name, and its type.
READABLE = {"markdown": ("md", "text/markdown"), "text": ("txt", "text/plain")}


@takes("GET")
async def conversations(request: HttpRequest) -> HttpResponse:
    """Gives a page of conversations; `?after=` is the last one of the page before, as
    `updated,id`. Of all of them, of one `?folder=`, or of what `?in=` names: the first page of the
    "list" has what stands beside it, too."""
    owner, after = await request_owner(request), _place(request.GET.get("after", ""))
    shelf = request.GET.get("in", "everything")
    if shelf not in SHELVES:
        raise BadCommand(say("in is {known}.", known=", ".join(SHELVES)))
    found, more = await list_conversations(
        owner=owner,
        after=after,
        shelf=shelf,
        folder=folder_name(request.GET.get("folder")),
    )
    rows = [conversation.to_dict() for conversation in found]
    page = {"conversations": rows, "count": len(rows), "more": more}
    if shelf == "list" and after is None:
        page |= (await sidebar_groups(owner=owner)).to_dict()
    return JsonResponse(page)


@takes("GET")
async def search(request: HttpRequest) -> HttpResponse:
    """Searches titles and messages for `?q=`; `?before=` is a page's `more`, and the days of
    filters are those of the time zone `?zone=`. `waiting` says that
    messages of an older database are still being made searchable."""
    owner = await request_owner(request)
    text = storable(request.GET.get("q", "").strip()[:200])
    # Little is waiting, except where a database older than the index is read in.
    more = await words_waiting() and await index_words()
    page = await search_text(
        owner=owner,
        text=text,
        before=_number(request, "before", SEARCH, digits=10),
        zone=zone_named(request.GET.get("zone", "")),
    )
    return JsonResponse(page.to_dict() | {"waiting": more})


@takes("GET")
async def bookmarks(request: HttpRequest) -> HttpResponse:
    """Gives bookmarked messages, as a search shows them; `?before=` is a page's `more`."""
    page = await bookmarked_messages(
        owner=await request_owner(request), after=_number(request, "before", BOOKMARKS) or 0
    )
    return JsonResponse(page.to_dict() | {"waiting": False})


def _number(request: HttpRequest, name: str, what: str, *, digits: int = 9) -> int | None:
    value = request.GET.get(name, "")
    if not value:
        return None
    if not (value.isascii() and value.isdigit() and len(value) <= digits):
        raise BadCommand(say(what, name=name))
    return int(value)


def _place(after: str) -> tuple[datetime, UUID] | None:
    if not after:
        return None
    updated, _, id = after.partition(",")
    try:
        return time_in_utc(updated), UUID(id)
    except (ValueError, OverflowError):
        raise BadCommand(say("after is the time and the id of a conversation.")) from None


@takes("PATCH", "DELETE")
async def conversation(request: HttpRequest, id: UUID) -> HttpResponse:
    site, owner = site_of(request), await request_owner(request)
    if request.method == "DELETE":
        # What would still be written is paid for, and nobody would read it.
        await site.turns.stop(owner, str(id))
        await delete_conversation(owner=owner, conversation=str(id))
        forget_deleted(site, str(id))
        return JsonResponse({"deleted": str(id)})
    title = json_fields(request).get("title")
    if not isinstance(title, str) or not title.strip():
        raise BadCommand(say("A title needs at least one character."))
    storable(title)
    renamed = await rename_conversation(
        owner=owner, conversation=str(id), title=" ".join(title.split())
    )
    site.feeds.publish(str(id), Renamed(title=renamed.title))
    return JsonResponse({"conversation": renamed.to_dict()})


@takes("POST")
async def restore(request: HttpRequest, id: UUID) -> HttpResponse:
    found = await undelete_conversation(owner=await request_owner(request), conversation=str(id))
    return JsonResponse({"conversation": found.to_dict()})


@takes("POST")
async def clear(request: HttpRequest, id: UUID) -> HttpResponse:
    site = site_of(request)
    await clear_conversation(owner=await request_owner(request), conversation=str(id))
    await site.drop_old_text(str(id))
    site.feeds.publish(str(id), Cleared())
    return JsonResponse({"cleared": str(id)})


@takes("GET")
async def messages(request: HttpRequest, id: UUID) -> HttpResponse:
    """Gives a page of the messages above `?before=`, and more up to the message `?until=`."""
    before = _number(request, "before", MESSAGE)
    if before is None:
        raise BadCommand(say(MESSAGE, name="before"))
    found, earlier = await earlier_messages(
        owner=await reading_owner(request, str(id)),
        conversation=str(id),
        before=before,
        until=_number(request, "until", MESSAGE),
    )
    return JsonResponse({"messages": [view.to_dict() for view in found], "earlier": earlier})


@takes("GET")
async def export(request: HttpRequest, id: UUID) -> HttpResponse:
    site = site_of(request)
    whole = await whole_path(owner=await reading_owner(request, str(id)), conversation=str(id))
    name = slugify(whole.conversation.title) or "conversation"
    form = request.GET.get("format", "json")
    if form in READABLE:
        await site.own_agents.look()
        slug = whole.conversation.agent
        there = site.agents.is_there(slug, await reading_owner(request, str(id)))
        known = site.agents.describe(slug, staff=False) if there else None
        agent = (known or missing_agent(slug))["name"]
        marked = form == "markdown"
        text = await asyncio.to_thread(write_readable, whole, marked=marked, agent=agent)
        ending, kind = READABLE[form]
        return _as_file(text.encode(), f"{kind}; charset=utf-8", f"{name}.{ending}")
    if form != "json":
        raise BadCommand(say("The format is json, markdown or text."))
    cleanup = cleanup_strategy(site, whole.conversation.agent)
    content = await asyncio.to_thread(write_export, whole, cleanup=cleanup)
    return _as_file(content, "application/json", f"{name}.chatsite.json")


def _as_file(content: bytes, kind: str, name: str) -> HttpResponse:
    response = HttpResponse(content, content_type=kind)
    response["Content-Disposition"] = f'attachment; filename="{name}"'
    return response


@takes("GET")
async def receipt(request: HttpRequest, id: UUID) -> HttpResponse:
    """Gives an answer's receipt; `since` is what changed since the request before it."""
    site = site_of(request)
    if not site.may_debug(staff=await is_staff(request)):
        raise NotFound(say("There is no such answer."))
    owner, stored = await read_for(request, lambda owner: receipt_of(owner=owner, turn=str(id)))
    found = site.turns.running.receipt_of(str(id)) or stored
    if found is None:
        raise NotFound(say("This answer has no receipt."))
    pair = await requests_to_compare(owner=owner, turn=str(id), receipt=found)
    who, told = found.get("provider") or {}, found.get("reported") or {}
    rules = site.models.table.cache_rules(
        who.get("kind", ""), who.get("model", ""), pays_writes="written" in told
    )
    since = {"since": report_cache(*pair, rules).to_dict()} if pair else {}
    return JsonResponse(show_receipt(found) | since)


@takes("GET")
async def costs(request: HttpRequest, id: UUID) -> HttpResponse:
    """Gives what the answers of a conversation cost, for those who may open the panel."""
    site = site_of(request)
    if not site.may_debug(staff=await is_staff(request)):
        raise NotFound(say("There is no such conversation."))
    owner = await reading_owner(request, str(id))
    answers = await answer_usages(owner=owner, conversation=str(id))
    found = await asyncio.to_thread(picture_costs, answers, site.models.table.facts)
    return JsonResponse(found)


@takes("GET")
async def sent_request(request: HttpRequest, id: UUID) -> HttpResponse:
    """Gives the exact request of a turn, for staff or with DEBUG."""
    site, staff = site_of(request), await is_staff(request)
    if not (site.may_debug(staff=staff) and site.may_see_request(staff=staff)):
        raise NotFound(say("There is no such answer."))
    owner, kept = await read_for(request, lambda owner: request_parts(owner=owner, turn=str(id)))
    if not site.own_agents.may_use(owner, kept.agent):
        raise NotFound(say("There is no agent of that name here."))
    who = site.agents.resolve_without_start(kept.agent)
    head = who.with_own(site.own_agents.instructions.get(owner.key, "")).head
    rebuilt = await rebuild_request(kept, head, StoredFiles(owner))
    return JsonResponse(rebuilt.to_dict())


@takes("GET")
async def models(request: HttpRequest) -> HttpResponse:
    """Lists the models for `?agent=<slug>`. `looking` says that servers on this machine are being
    asked now, so that the list may soon be longer."""
    agent = storable(request.GET.get("agent", "")[:64])
    site, owner = site_of(request), await request_owner(request)
    await site.own_agents.look()
    if agent and not site.agents.is_there(agent, owner):
        raise NotFound(say("There is no agent of that name here."))
    found = site.agents.choices(agent, staff=await is_staff(request))
    return JsonResponse(found)
