"""The engine's KV cache in the debug panel: a conversation's cells, what each cleanup would
unload, running one, and undoing it."""

from __future__ import annotations

from dataclasses import replace
from typing import Any
from uuid import UUID

from django.conf import settings
from django.http import HttpRequest, HttpResponse, JsonResponse

from chatsite.conversations.owners import Owner
from chatsite.conversations.path.cache_places import bring_back_turns, mark_for_cleanup
from chatsite.errors import BadCommand, ChatsiteError, NotFound, PromptTooLarge
from chatsite.events import CacheChanged
from chatsite.kv_cache.cleanup import resolve_cleanup, unknown_strategy
from chatsite.kv_cache.cleanup_preview import CleanupOffers
from chatsite.kv_cache.panel_view import cache_books, totals_of
from chatsite.kv_cache.records import CacheBooks
from chatsite.turns.context.turn_context import PageRequest
from chatsite.web.api.requests import json_fields, page_query, takes
from chatsite.web.people import is_staff, reading_owner, request_owner, site_of
from chatsite.wiring.site import Site
from chatsite.wording import say

MAX_TURNS = 10_000


@takes("GET")
async def cache_view(request: HttpRequest, id: UUID) -> HttpResponse:
    """Show what the cache holds. `query` is the page's query string: it determines what the next
    message is sent with, and so what a cleanup would unload."""
    site, owner, page = await _page_request(request, id, request.GET.get("query", ""), panel=True)
    books = await cache_books(owner=owner, conversation=page.conversation)
    page = replace(page, agent=books.agent, model=books.model)
    available, offered = await _offered(site, page)
    return JsonResponse(_cache_fields(site, page, books, offered, available=available))


@takes("POST")
async def clean_cache(request: HttpRequest, id: UUID) -> HttpResponse:
    """Unload what a strategy would; `{"strategy": "removeOldestMessages"}` and the page's
    `query`."""
    body = json_fields(request)
    strategy = body.get("strategy")
    if not isinstance(strategy, str):
        raise BadCommand(say("strategy is the name of one."))
    if problem := unknown_strategy(strategy):
        raise BadCommand(problem)
    site, owner, page = await _page_request(request, id, body.get("query", ""), panel=True)
    books = await cache_books(owner=owner, conversation=page.conversation)
    turns = await site.cleanups.choose(
        replace(page, agent=books.agent, model=books.model), strategy
    )
    status = await mark_for_cleanup(owner=owner, conversation=page.conversation, turns=turns)
    return await _answer_change(site, owner, page, status)


@takes("POST")
async def bring_back_unloaded(request: HttpRequest, id: UUID) -> HttpResponse:
    """Load unloaded turns again; `{"turns": [3, 7]}`, the sequence numbers of user messages, or
    `{}` for all. Allowed to the owner also without the panel: cleanups run by themselves too."""
    body = json_fields(request)
    turns = _turn_numbers(body["turns"]) if "turns" in body else None
    site, owner, page = await _page_request(request, id, "", panel=False)
    status = await bring_back_turns(owner=owner, conversation=page.conversation, turns=turns)
    return await _answer_change(site, owner, page, status)


async def _page_request(
    request: HttpRequest, id: UUID, query: object, *, panel: bool
) -> tuple[Site, Owner, PageRequest]:
    site, staff = site_of(request), await is_staff(request)
    if panel and not site.may_debug(staff=staff):
        raise NotFound(say("There is no such conversation."))
    query = page_query(query)
    reads = request.method == "GET"
    owner = await (reading_owner(request, str(id)) if reads else request_owner(request))
    page = site.page_request(
        owner=owner,
        staff=staff,
        conversation=str(id),
        agent="",
        query=query,
    )
    return site, owner, page


async def _offered(site: Site, page: PageRequest) -> tuple[bool, CleanupOffers]:
    """Return whether the model has a cache to show, and what each cleanup would unload."""
    available = False
    try:
        offered = await site.cleanups.offers(page)
        return not offered.note, offered
    except NotFound:
        raise
    except PromptTooLarge as error:  # there is a cache nevertheless
        available, note = True, error.message
    except ChatsiteError as error:  # no model can be reached
        note = error.message
    cleanup = resolve_cleanup(environment=settings.CACHE_CLEANUP, template={})
    return available, CleanupOffers(note=note, window=0, cleanup=cleanup)


def _cache_fields(
    site: Site, page: PageRequest, books: CacheBooks, offered: CleanupOffers, *, available: bool
) -> dict[str, Any]:
    live = site.cache.view(page.conversation)
    note = offered.note
    if available and not live.available:
        available, note = False, live.note
    place: str = live.place
    used, places = live.used, live.places
    if place == "none" and books.saved is not None:
        place, used, places = "saved", books.saved.cells, books.saved.places
    window = live.window or offered.window
    strip = books.strip(places=places, used=used) if available else ()
    return {
        "available": available,
        "note": note,
        "window": window,
        "used": used,
        "free": max(window - used, 0),
        "place": place,
        "cleanup": offered.cleanup.to_dict(),
        "strip": [piece.to_dict() for piece in strip],
        "strategies": [offer.to_dict() for offer in offered.offers] if available else [],
        "unloaded": books.unloaded,
        "turns": list(books.turns),
        "misses": live.misses,
        "saved": books.saved.to_dict() if books.saved else None,
    }


async def _answer_change(
    site: Site, owner: Owner, page: PageRequest, status: dict[str, int]
) -> HttpResponse:
    """Publish the new statuses to the conversation's pages, and answer with their totals."""
    if status:
        site.trim_ahead.changed(page.conversation)
        site.feeds.publish(page.conversation, CacheChanged(status=status))
    totals = await totals_of(owner=owner, conversation=page.conversation, ids=list(status))
    return JsonResponse({**totals, "status": status})


def _turn_numbers(given: object) -> list[int]:
    if isinstance(given, list) and len(given) <= MAX_TURNS:
        turns = [turn for turn in given if type(turn) is int and 0 < turn < 2**31]
        if len(turns) == len(given):
            return turns
    raise BadCommand(
        say(
            "turns is a list of at most {max_turns:,} sequence numbers of messages.",
            max_turns=MAX_TURNS,
        )
    )
