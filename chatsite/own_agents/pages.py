"""The page's requests about agents that people make, and about their own instructions."""

from __future__ import annotations

from typing import Any

from django.conf import settings
from django.http import HttpRequest, HttpResponse, JsonResponse

from chatsite.agents.template_file import parse_template
from chatsite.errors import BadCommand
from chatsite.history.room import OWN_ID
from chatsite.history.settings.offers import SettingSources, offers
from chatsite.history.settings.resolve import may_use_url
from chatsite.kv_cache.saved_sessions import keys_with
from chatsite.own_agents.parsing import own_document
from chatsite.own_agents.queries import (
    LONGEST_INSTRUCTIONS,
    agent_versions,
    create_agent,
    delete_agent,
    own_instructions,
    save_agent,
    save_instructions,
    use_version,
)
from chatsite.web.api.requests import json_fields, storable, takes
from chatsite.web.people import is_staff, request_owner, site_of
from chatsite.wiring.site import Site
from chatsite.wording import say


def _given(site: Site, fields: dict[str, Any]) -> tuple[dict[str, Any], bool]:
    """Reads `{template, shared}`: the template as it is kept. Raises BadFile and BadCommand."""
    shared = fields.get("shared", False)
    if not isinstance(shared, bool):
        raise BadCommand(say("{name} is true or false.", name="shared"))
    return own_document(fields.get("template"), tools=site.agents.own_tools()), shared


async def _listed(request: HttpRequest, slug: str = "") -> HttpResponse:
    """Gives all agents that this person may use, as they are now, and the one that was changed."""
    site, owner = site_of(request), await request_owner(request)
    await site.own_agents.look(now=True)
    agents = site.agents.all(staff=await is_staff(request), owner=owner)
    return JsonResponse({"agents": agents, "slug": slug})


@takes("GET", "POST")
async def agents(request: HttpRequest) -> HttpResponse:
    """GET lists the agents; POST `{template, shared}` makes one."""
    if request.method == "GET":
        return await _listed(request)
    template, shared = _given(site_of(request), json_fields(request))
    slug = await create_agent(
        owner=await request_owner(request),
        template=template,
        shared=shared,
        staff=await is_staff(request),
    )
    return await _listed(request, slug)


@takes("PUT", "DELETE")
async def agent(request: HttpRequest, slug: str) -> HttpResponse:
    """PUT `{template, shared}` stores a new version; DELETE can be undone for an hour."""
    owner, staff = await request_owner(request), await is_staff(request)
    if request.method == "DELETE":
        await delete_agent(owner=owner, slug=slug, deleted=True, staff=staff)
        return await _listed(request, slug)
    # First: to somebody else every template is as unknown as the agent.
    await agent_versions(owner=owner, slug=slug)
    template, shared = _given(site_of(request), json_fields(request))
    await save_agent(owner=owner, slug=slug, template=template, shared=shared, staff=staff)
    return await _listed(request, slug)


@takes("POST")
async def restore(request: HttpRequest, slug: str) -> HttpResponse:
    owner, staff = await request_owner(request), await is_staff(request)
    await delete_agent(owner=owner, slug=slug, deleted=False, staff=staff)
    return await _listed(request, slug)


@takes("POST")
async def version(request: HttpRequest, slug: str) -> HttpResponse:
    """Makes the version `{"number": 3}` the newest."""
    number = json_fields(request).get("number")
    if not isinstance(number, int) or not 0 < number < 2**31:
        raise BadCommand(say("{name} is the number of a version.", name="number"))
    owner, staff = await request_owner(request), await is_staff(request)
    await use_version(owner=owner, slug=slug, number=number, staff=staff)
    return await _listed(request, slug)


@takes("GET")
async def form(request: HttpRequest) -> HttpResponse:
    """Gives what the form shows of `?agent=`, or of a new one: the newest template, its versions,
    and what can be chosen."""
    site, staff = site_of(request), await is_staff(request)
    slug = storable(request.GET.get("agent", "")[:64])
    shared, versions = False, list[dict[str, Any]]()
    if slug:
        shared, versions = await agent_versions(owner=await request_owner(request), slug=slug)
    template = versions[0]["template"] if versions else {}
    return JsonResponse(
        {
            "template": template,
            "shared": shared,
            "versions": [{name: one[name] for name in ("number", "created")} for one in versions],
            "tools": site.agents.own_tools(),
            "may_share": staff,
            "memory": _memory(template, staff=staff),
        }
    )


def _memory(template: dict[str, Any], *, staff: bool) -> dict[str, Any]:
    """Lists what an agent can be given of the policy and its settings, and what applies now."""
    chat = template.get("chatSettings")
    sources = SettingSources(
        environment=settings.HISTORY_ENVIRONMENT,
        url={},
        template=chat if isinstance(chat, dict) else {},
        conversation={},
        url_allowed=may_use_url(settings.HISTORY_ENVIRONMENT, staff=staff),
    )
    found = sources.resolve()
    tokens = found.tokens.value
    return offers(sources, found).to_dict() | {"length": found.length.value, "tokens": tokens}


@takes("POST")
async def check(request: HttpRequest) -> HttpResponse:
    """Reads a `{template}` from a file: as it would be kept, and what of it has no effect here."""
    site, given = site_of(request), json_fields(request).get("template")
    document = own_document(given, tools=site.agents.own_tools())
    unused = [one.sentence for one in parse_template("own", document).unused]
    return JsonResponse({"template": document, "unused": [*_left_out(given, document), *unused]})


def _left_out(given: Any, document: dict[str, Any]) -> list[str]:
    """Says which tools of a file can't be had here."""
    nodes = [node for node in given.get("nodes") or () if node not in document["nodes"]]
    names = ", ".join(str(node) for node in nodes)
    return [say("These tools can't be had here: {names}.", names=names)] if nodes else []


@takes("GET", "PUT")
async def instructions(request: HttpRequest) -> HttpResponse:
    """GET gives the person's own instructions, PUT `{text, on}` keeps them, and removes what the
    engine saved of those before."""
    site, owner = site_of(request), await request_owner(request)
    if request.method == "PUT":
        fields = json_fields(request)
        text, on = fields.get("text"), fields.get("on")
        if not isinstance(text, str) or not isinstance(on, bool):
            raise BadCommand(say("Instructions are a text, and whether it is sent."))
        await save_instructions(owner=owner, text=storable(text).strip(), on=on)
        await site.own_agents.look(now=True)
        await site.sessions.forget(await keys_with(part=OWN_ID, owner=owner))
    text, on = await own_instructions(owner=owner)
    return JsonResponse({"text": text, "on": on, "longest": LONGEST_INSTRUCTIONS})
