"""Addresses that show and change what the model sees: summaries, the comparison, resuming."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any
from uuid import UUID

from django.conf import settings as configured
from django.http import HttpRequest, HttpResponse, JsonResponse

from chatsite.conversations.files.export_format import SavedSettings
from chatsite.conversations.owners import Owner
from chatsite.conversations.path.queries import agent_of, receipt_of
from chatsite.conversations.summaries.queries import summary_versions
from chatsite.errors import BadCommand, ChatsiteError, NotFound
from chatsite.history import POLICIES, URL_NAMES, Settings, may_use_url, resolve
from chatsite.history.policies.base import Terms
from chatsite.history.settings.choosers import Choice
from chatsite.history.settings.offers import TOKENS, choosable
from chatsite.history.settings.row import Setting
from chatsite.kv_cache.cleanup import resolve_cleanup
from chatsite.turns.context.drafts import Draft
from chatsite.turns.context.turn_context import PageRequest, TurnContext
from chatsite.web.api.requests import (
    MAX_QUERY,
    json_fields,
    model_name,
    page_query,
    replied_id,
    storable,
    takes,
    upload_ids,
)
from chatsite.web.people import is_staff, read_for, reading_owner, request_owner, site_of
from chatsite.wiring.site import Site
from chatsite.wording import say

MAX_CHARACTERS = 50_000


@takes("GET", "POST")
async def summary(request: HttpRequest, id: UUID) -> HttpResponse:
    """GET lists the versions. POST `{"version": 3, "text": "..."}` makes a new version with this
    text and the coverage of version 3; without a text it has the text of version 3, too. `query` is
    the page's query string, which determines how long a summary may be."""
    if request.method != "POST":
        return await summaries_of(await reading_owner(request, str(id)), id)
    body = json_fields(request)
    version, text = _edit(body)
    context = await stored_context(request, id, body)
    await site_of(request).summariser.rewrite(context, version=version, text=text)
    return await summaries_of(context.owner, id)


async def stored_context(request: HttpRequest, id: UUID, body: Mapping[str, object]) -> TurnContext:
    """Gives the settings in force in an owner's conversation, with the page's `{query, model}`."""
    site, owner = site_of(request), await request_owner(request)
    page = site.page_request(
        owner=owner,
        staff=await is_staff(request),
        conversation=str(id),
        agent=await agent_of(owner=owner, conversation=str(id)),
        query=page_query(body.get("query", "")),
        model=model_name(body.get("model", "")),
    )
    return await site.drafts.context(page)


async def summaries_of(owner: Owner, id: UUID) -> HttpResponse:
    """Lists the versions of a conversation's summary."""
    found = await summary_versions(owner=owner, conversation=str(id))
    return JsonResponse(found.to_dict())


@takes("POST")
async def switch(request: HttpRequest, id: UUID) -> HttpResponse:
    """Switches the summary on or off: `{"on": false}`."""
    on = json_fields(request).get("on")
    if not isinstance(on, bool):
        raise BadCommand(say("on is true or false."))
    owner = await request_owner(request)
    await site_of(request).summariser.switch(owner=owner, conversation=str(id), on=on)
    return await summaries_of(owner, id)


def _edit(body: dict[str, object]) -> tuple[int, str | None]:
    version, text = body.get("version"), body.get("text")
    # In Python true is a number, too.
    if not isinstance(version, int) or isinstance(version, bool) or not 0 < version < 10**9:
        raise BadCommand(say("version is the number of the version that is edited."))
    if text is None:
        return version, None
    return version, summary_words(text)


def summary_words(text: object) -> str:
    """Reads a person's text of a summary."""
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
    return storable(text.strip())


@takes("POST")
async def compare_draft(request: HttpRequest, id: UUID) -> HttpResponse:
    """Compares policies for the next message, of the page's `{query, draft, reply_to, attachments,
    model}`. A POST, so that drafts don't get into addresses and logs."""
    body = json_fields(request)
    owner = await reading_owner(request, str(id))
    page = await _page_request(request, body, owner=owner, conversation=str(id))
    reply_to = replied_id(body.get("reply_to"))
    site, text = site_of(request), _text(body, "draft")
    attached = await site.drafts.attachments(page, upload_ids(body.get("attachments", [])))
    draft = Draft(text=text, reply_to=reply_to, attachments=attached)
    return JsonResponse(await site.comparison.of_draft(page, draft))


@takes("POST")
async def compare_turn(request: HttpRequest, id: UUID) -> HttpResponse:
    """Compares policies for an answered turn, with the page's `{query}`."""
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


def resume_settings(
    saved: SavedSettings | None,
    kept: Choice,
    template: Mapping[str, object],
    *,
    staff: bool,
) -> tuple[Choice, str]:
    """Takes over what was `kept`, and where that says nothing the part of `saved` that a person may
    choose here: the choice to keep with the conversation. Where other settings apply nevertheless,
    a sentence tells so, else it is ""."""
    kept = {name: value for name, value in kept.items() if name in URL_NAMES}
    if saved is None:
        return kept, ""
    environment = configured.HISTORY_ENVIRONMENT
    allowed = may_use_url(environment, staff=staff)

    def resolve_with(choice: Choice) -> Settings:
        return resolve(
            environment=environment,
            url={},
            conversation=choice,
            template=template,
            url_allowed=allowed,
        )

    wanted = {**_saved_choice(saved), **kept}
    without, chosen = _choosable(resolve_with({})), _choosable(resolve_with(wanted))
    choice = kept | {
        name: value
        for name, value in wanted.items()
        if chosen[name].source == "conversation" and str(without[name].value) != value
    }
    here = resolve_with(choice)
    applied = _choosable(here)
    missed = any(str(applied[name].value) != value for name, value in wanted.items())
    if not missed and (TOKENS in wanted or here.tokens.value is None):
        return choice, ""
    sentence = say(
        "Its last answer was decided under {policy}. Here “{words}” applies.",
        policy=_describe(saved),
        words=here.words,
    )
    return choice, f"{sentence} {say(here.lock_reason)}" if here.lock_reason else sentence


def cleanup_strategy(site: Site, agent: str) -> str:
    """Names the cache's cleanup strategy that applies to the agent, for an exported file. If the
    agent is gone, this is the environment's or the built-in one."""
    try:
        template: Mapping[str, object] = site.catalogue.get(agent).chat_settings
    except ChatsiteError:
        template = {}
    return resolve_cleanup(environment=configured.CACHE_CLEANUP, template=template).value


def _choosable(settings: Settings) -> dict[str, Setting[Any]]:
    """Lists the settings that a person may choose, by name."""
    return {row.url: setting for row, setting in choosable(settings) if row.url}


def _saved_choice(saved: SavedSettings) -> dict[str, str]:
    """Makes the choice that lets `saved` apply, without what its policy ignores."""
    policy = POLICIES.get(saved.policy, saved.selector)
    wanted = {"historyPolicy": saved.policy}
    if policy is not None and policy.uses_length:
        wanted["historyLength"] = str(saved.length)
    if saved.tokens is not None:
        wanted["historyTokens"] = str(saved.tokens)
    if policy is not None and policy.selector and saved.selector:
        wanted["historySelector"] = saved.selector
    return wanted


def _describe(saved: SavedSettings) -> str:
    policy = POLICIES.get(saved.policy, saved.selector)
    if policy is None:
        return say("the policy '{policy}', which isn't known here", policy=saved.policy)
    words = policy.words(Terms(length=saved.length))
    if saved.tokens is None:
        return say("“{words}”", words=words)
    return say("“{words}, up to {tokens:,} tokens”", words=words, tokens=saved.tokens)
