"""The chat page. Everything that changes later reaches it over the socket."""

from __future__ import annotations

from functools import cache
from typing import Any
from uuid import UUID

from django.conf import settings
from django.contrib.staticfiles.storage import staticfiles_storage
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import reverse
from django.utils.translation import get_language
from django.views.decorators.csrf import ensure_csrf_cookie
from django.views.decorators.http import require_safe

from chatsite.conversations.imports.imports import import_state
from chatsite.conversations.path.queries import agent_of
from chatsite.errors import BadCommand, NotFound
from chatsite.history import POLICIES
from chatsite.history.settings.resolve import may_use_url
from chatsite.history.settings.rules import ChoiceRules
from chatsite.history.settings.table import ROWS
from chatsite.language import is_spoken, page_catalogue
from chatsite.messages import MAX_ATTACHMENT_BYTES, MAX_ATTACHMENTS
from chatsite.shares.links import shares_any
from chatsite.web.api.requests import json_fields, takes
from chatsite.web.people import (
    is_staff,
    known_person,
    new_guest,
    note_visit,
    open_session,
    owner_mark,
    reader_of,
    reading_owner,
    site_of,
)
from chatsite.web.server.static_files import chunk_addresses
from chatsite.wording import say

HIGHLIGHT = "vendor/highlightjs"
KATEX = "vendor/katex/katex.min"
WORKER = "chat/text/worker.js"
MAIN = "chat/main.js"
# The page loads it when somebody begins to write; with a conversation it is needed at once.
FORMATTER = "chat/text/formatter.js"
# Those that the page is told.
ADDRESSES = (
    *("login", "logout", "signup", "account", "conversations", "search", "bookmarks", "diagram"),
    *("session", "import", "import-progress", "sample", "language", "prompts", "preview"),
    *("changes", "own-agents", "own-agent-form", "own-agent-check", "own-instructions"),
)
# What a diagram's frame may do, whatever a model wrote into it: run the two scripts of this server
# and style its own drawing. It has an origin of its own, so that it reaches neither the page nor
# its cookies, and it can't connect anywhere. Mermaid puts its styles into the drawing.
DIAGRAM_HEADERS = {
    "Content-Security-Policy": (
        "default-src 'none'; script-src 'self'; style-src 'unsafe-inline'; base-uri 'none'; "
        "form-action 'none'; frame-ancestors 'self'; sandbox allow-scripts"
    ),
    "X-Frame-Options": "SAMEORIGIN",
}
# What the frame of a preview may do. Its own script puts the page that a model wrote into a frame
# inside it, which gets these rules, and by its own the inline scripts alone. Each frame has an
# origin that nobody shares; nothing here or inside may load or open an address.
PREVIEW_HEADERS = {
    "Content-Security-Policy": (
        "default-src 'none'; script-src 'self' 'unsafe-inline'; style-src 'unsafe-inline'; "
        "img-src data:; font-src data:; media-src data:; base-uri 'none'; form-action 'none'; "
        "frame-ancestors 'self'; sandbox allow-scripts"
    ),
    "X-Frame-Options": "SAMEORIGIN",
    "X-DNS-Prefetch-Control": "off",
}


@require_safe
@ensure_csrf_cookie
async def chat(request: HttpRequest, conversation: UUID | None = None) -> HttpResponse:
    """Opens a new chat with `?agent=`, or one of the owner's conversations. The page tells of an
    unknown agent in a link, and opens with the usual one."""
    site, known = site_of(request), await known_person(request)
    staff = await is_staff(request)
    if known is not None:
        await note_visit(request, known)
    await site.own_agents.look()
    owner = known or new_guest()
    agents = site.agents.all(staff=staff, owner=owner)
    asked = request.GET.get("agent", "")
    unknown = bool(asked) and not site.agents.is_there(asked, owner)
    agent = asked if asked and not unknown else _usual_agent(agents)
    if conversation is not None:
        try:
            reads = await reading_owner(request, str(conversation))
            agent = await agent_of(owner=reads, conversation=str(conversation))
        except NotFound:
            raise Http404 from None
    page = await _page(request, agents=agents, agent=agent, conversation=conversation)
    # Without its name: nothing of an address is repeated in a page that is compressed.
    page["unknown_agent"] = unknown and not conversation
    words = page_catalogue(get_language() or settings.LANGUAGE_CODE)
    chunks = chunk_addresses(MAIN) if conversation is None else chunk_addresses(MAIN, FORMATTER)
    context = {"page": page, "words": words, "chunks": chunks}
    return render(request, "chat.html", context | {"csrf_cookie": settings.CSRF_COOKIE_NAME})


@require_safe
async def diagram(request: HttpRequest) -> HttpResponse:
    """Gives the frame in which a diagram is drawn; the page sends the diagram to it."""
    return _frame(request, "diagram.html", DIAGRAM_HEADERS)


@require_safe
async def preview(request: HttpRequest) -> HttpResponse:
    """Gives the frame in which a page or a drawing is shown; the page sends it there."""
    return _frame(request, "preview.html", PREVIEW_HEADERS)


def _frame(request: HttpRequest, template: str, headers: dict[str, str]) -> HttpResponse:
    response = render(request, template)
    for name, value in headers.items():
        response[name] = value
    return response


def _usual_agent(agents: list[dict[str, Any]]) -> str:
    """Chooses the demo or the first agent that works; "" if none does."""
    working = [agent["slug"] for agent in agents if agent["broken"] is None]
    if not working:
        return ""
    return "demo" if "demo" in working else str(working[0])


async def _page(
    request: HttpRequest, *, agents: list[dict[str, Any]], agent: str, conversation: UUID | None
) -> dict[str, Any]:
    site, staff, user = site_of(request), await is_staff(request), await request.auser()
    known = await known_person(request)
    may_debug = site.may_debug(staff=staff)
    return {
        "agents": agents,
        "agent": agent,
        "conversation": str(conversation) if conversation else None,
        "owner": await owner_mark(request),
        "rooms": [
            {"id": room.conversation, "title": room.room.name, "agent": room.agent}
            for room in site.rooms.read_by(await reader_of(request))
        ],
        "has_session": known is not None,
        "user": {
            "name": user.get_username() if user.is_authenticated else say("Guest"),
            "signed_in": user.is_authenticated,
            "staff": staff,
        },
        "languages": _languages(request),
        "signup": settings.SIGNUP,
        "guest_days": settings.GUEST_DAYS,
        "restoring": await _is_restoring(request),
        "debug_panel": may_debug,
        "debug": may_debug and request.GET.get("debug") == "true",
        "show_request": may_debug and site.may_see_request(staff=staff),
        "max_frame": settings.MAX_FRAME_BYTES,
        "max_attachments": MAX_ATTACHMENTS,
        "max_attachment_bytes": MAX_ATTACHMENT_BYTES,
        "urls": {name.replace("-", "_"): reverse(name) for name in ADDRESSES},
        "policies": policy_facts(),
        "memory": _who_chooses(staff=staff),
        "temporary": settings.TEMPORARY_CHATS,
        "shares": known is not None and await shares_any(known),
        "static": {
            "highlight": highlight_modules(),
            "worker": staticfiles_storage.url(WORKER),
            "maths": {
                "script": staticfiles_storage.url(f"{KATEX}.js"),
                "style": staticfiles_storage.url(f"{KATEX}.css"),
            },
        },
    }


def _languages(request: HttpRequest) -> dict[str, Any]:
    """Lists the languages by their own names, and gives the chosen one; "": as the browser asks."""
    chosen = request.COOKIES.get(settings.LANGUAGE_COOKIE_NAME, "")
    return {"names": dict(settings.LANGUAGES), "chosen": chosen if is_spoken(chosen) else ""}


async def _is_restoring(request: HttpRequest) -> bool:
    site = site_of(request)
    if site.presence.is_alone and site.imports.idle:
        return False  # without a query, as nearly always
    owner = await known_person(request)
    found = await import_state(owner) if owner else None
    return found is not None and not (found["conversation"] or found["problem"])


def _who_chooses(*, staff: bool) -> str:
    """Says who decides what the model remembers: "page" if the page can choose, "administrator" if
    the environment locks it, "agent" if nobody may choose."""
    environment = settings.HISTORY_ENVIRONMENT
    if ChoiceRules.read(environment).locked_by:
        return "administrator"
    return "page" if may_use_url(environment, staff=staff) else "agent"


def policy_facts() -> dict[str, Any]:
    """Lists what the page must know of the policies, so that no module of it names one.

    `report_titles`: by the key of the report; `with_summary`: the policies that send a running
    summary; `settings`: what people read of each history setting, by its name.
    """
    return {
        "report_titles": {
            row.evidence: say(row.report_title) for row in POLICIES.rows if row.evidence
        },
        "with_summary": [row.name for row in POLICIES.rows if row.uses_summary],
        "settings": {
            name: {
                "label": say(row.label),
                "about": say(row.about),
                "always_shown": row.always_shown,
            }
            for name, row in ROWS.items()
        },
    }


@cache
def highlight_modules() -> dict[str, str]:
    """Finds hashed addresses by module name: static files storage rewrites no computed imports.

    Found once: the files are those of the server's start, and looking took a quarter of the page.
    """
    folder = settings.BASE_DIR / "static" / HIGHLIGHT
    names = [file.relative_to(folder).as_posix() for file in sorted(folder.rglob("*.js"))]
    return {name: staticfiles_storage.url(f"{HIGHLIGHT}/{name}") for name in names}


@takes("POST")
async def session(request: HttpRequest) -> HttpResponse:
    await open_session(request)
    return HttpResponse(status=204)


@takes("POST")
async def language(request: HttpRequest) -> HttpResponse:
    """Keeps the language that was chosen in the page; "" follows the browser again."""
    chosen = json_fields(request).get("language")
    response = HttpResponse(status=204)
    if chosen == "":
        response.delete_cookie(settings.LANGUAGE_COOKIE_NAME)
    elif isinstance(chosen, str) and is_spoken(chosen):
        response.set_cookie(
            settings.LANGUAGE_COOKIE_NAME,
            chosen,
            max_age=settings.SESSION_COOKIE_AGE,
            secure=settings.SESSION_COOKIE_SECURE,
            httponly=True,
            samesite="Lax",
        )
    else:
        names = ", ".join(dict(settings.LANGUAGES))
        raise BadCommand(say("There is no such language here. There are: {names}.", names=names))
    return response
