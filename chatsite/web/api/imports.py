"""Bringing chats along: a saved chat of our own, or the export of another program."""

from __future__ import annotations

import asyncio
import tempfile
from collections.abc import Mapping
from contextlib import ExitStack
from functools import partial
from typing import IO, Any

from django.http import HttpRequest, HttpResponse, JsonResponse

from chatsite.agents.template import Template
from chatsite.conversations.imports.imports import close_report, import_state
from chatsite.conversations.imports.reader import ImportHeader
from chatsite.conversations.owners import Owner
from chatsite.errors import BadRestore, ChatsiteError, NotFound
from chatsite.web.api.history import resume_settings
from chatsite.web.api.requests import storable, takes
from chatsite.web.people import is_staff, request_owner, site_of
from chatsite.wording import later, say

# Of somebody without an account.
MAX_IMPORT_BYTES = 20 * 1024 * 1024
BLOCK_BYTES = 1024 * 1024
# Most files are restored in a moment, and answered as they are.
WAIT_SECONDS = 1.5
READ_ANEW = later("The model on this machine reads this chat anew for its next answer.")


@takes("POST")
async def import_file(request: HttpRequest) -> HttpResponse:
    """Answers 200 with the conversation if it is restored at once, else 202 with the progress; so
    for chats of another program, which belong to `?agent=<slug>` from then on.

    The choice kept with the new conversation is such that its next message is decided like the
    file's last one, as far as a person may choose; `note` tells where other settings apply, and
    that the engine has no cells of it."""
    site, owner, staff = site_of(request), await request_owner(request), await is_staff(request)
    site.imports.require_place(owner)  # before the file is copied
    content = await asyncio.to_thread(_on_disk, request)

    def template_of(slug: str) -> Template:
        if not site.own_agents.may_use(owner, slug):
            raise NotFound(say("There is no agent of that name here."))
        return site.catalogue.get(slug)  # a broken one raises

    def accept(header: ImportHeader) -> tuple[Mapping[str, str], str]:
        template = template_of(header.agent)
        choice, note = resume_settings(
            header.settings, header.history, template.chat_settings, staff=staff
        )
        who = site.agents.resolve_without_start(header.agent, staff=staff)
        # The file has no cells, and those of its first conversation belong to other messages.
        anew = say(READ_ANEW) if who.has_cache and header.count else ""
        return choice, " ".join(filter(None, (note, anew)))

    agent = storable(request.GET.get("agent", "")[:64])
    if agent:
        template_of(agent)
    started = await site.imports.start(owner, content, accept, agent=agent)
    await asyncio.wait([started], timeout=WAIT_SECONDS)
    if not started.done():
        return JsonResponse({"import": await import_state(owner)}, status=202)
    if started.cancelled():
        raise BadRestore(say("This was cancelled. Nothing was imported."))
    if (imported := started.result()) is None:
        return JsonResponse({"import": await import_state(owner)})
    conversation, note = imported
    return JsonResponse({"conversation": conversation.to_dict(), "note": note})


def _on_disk(request: HttpRequest) -> IO[bytes]:
    """Copies the request's file, so that it outlives the request. Raises BadRestore."""
    upload = request.FILES.get("file")
    if upload is None and request.content_type == "multipart/form-data":
        raise BadRestore(say("The request holds no file. Nothing was imported."))
    blocks = (
        upload.chunks() if upload is not None else iter(partial(request.read, BLOCK_BYTES), b"")
    )
    with ExitStack() as closing:
        content: IO[bytes] = closing.enter_context(tempfile.TemporaryFile())
        content.writelines(blocks)
        content.flush()
        closing.pop_all()  # the import closes it
        return content


@takes("GET", "HEAD", "DELETE")
async def import_progress(request: HttpRequest) -> HttpResponse:
    """GET tells of the import under way or the last one, null for none. DELETE cancels the import,
    and nothing of it stays, or forgets the report of the last one."""
    site, owner = site_of(request), await request_owner(request)
    if request.method == "DELETE":
        cancelled = await site.imports.cancel(owner)
        if not cancelled:
            await close_report(owner)
        return JsonResponse({"cancelled": cancelled})
    found = await import_state(owner)
    if found and (report := found.get("report")):
        report["line"] = await _line_drawn(request, owner, report.get("largest"))
        for one in report["left_out"]:
            one["words"] = say(LEFT_OUT[one["kind"]])
    return JsonResponse({"import": found})


# By kind: what an import of another program's chats left out.
LEFT_OUT = {
    "here": later("Chats that are here already"),
    "empty": later("Chats without messages"),
    "unknown": later("Parts of the file that hold no chat"),
    "words_full": later("Chats that don't fit into your space here any more"),
    "disk_full": later("Chats for which this server's disk has no room"),
    "system": later("Instructions and notes that the other program didn't show"),
    "role": later("Messages of somebody who is neither a person nor a model"),
    "long": later("Ends of messages with more than 5 million characters"),
    "content": later("Parts of messages of an unknown kind"),
    "files": later("Files that aren't in the export; their names stay in the messages"),
    "refused": later("Files that aren't taken here; their names stay in the messages"),
}


async def _line_drawn(
    request: HttpRequest, owner: Owner, chat: dict[str, Any] | None
) -> dict[str, Any] | None:
    """Says of a chat how many of its messages its agent would see now, without asking a model."""
    if chat is None:
        return None
    site, staff = site_of(request), await is_staff(request)
    page = site.page_request(
        owner=owner, staff=staff, conversation=chat["id"], agent=chat["agent"], query=""
    )
    try:
        decision = await site.drafts.decide(await site.drafts.context(page))
    except ChatsiteError:
        return None  # deleted since, or no model can answer
    return {**chat, "stored": decision.stored, "sent": decision.sent}
