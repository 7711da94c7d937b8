"""Restoring a saved conversation: it goes on beside the page, which asks how far it is."""

from __future__ import annotations

import asyncio
import tempfile
from collections.abc import Mapping
from contextlib import ExitStack
from typing import IO

from django.http import HttpRequest, HttpResponse, JsonResponse
from django.views.decorators.http import require_http_methods, require_POST

from chatsite.conversations.imports.reader import ImportHeader
from chatsite.errors import BadRestore
from chatsite.web.api.requests import answers_errors, request_body
from chatsite.web.api.resume import resume_settings
from chatsite.web.people import is_staff, request_owner, site_of
from chatsite.wording import later, say

MAX_IMPORT_BYTES = 20 * 1024 * 1024
# Most files are restored in a moment, and answered as they are.
WAIT_SECONDS = 1.5
READ_ANEW = later("The model on this machine reads this chat anew for its next answer.")


@require_POST
@answers_errors
async def import_file(request: HttpRequest) -> HttpResponse:
    """200 with the conversation where it is restored at once, else 202 with the progress.

    The choice kept with the new conversation is such that its next message is decided like the
    file's last one, as far as a person may choose; `note` tells where other settings apply, and
    that the engine has no cells of it."""
    site, owner, staff = site_of(request), await request_owner(request), await is_staff(request)
    site.imports.require_place(owner)
    content = await asyncio.to_thread(_on_disk, request)

    def accept(header: ImportHeader) -> tuple[Mapping[str, str], str]:
        template = site.catalogue.get(header.agent)
        resumed = resume_settings(
            header.settings, header.history, template.chat_settings, staff=staff
        )
        who = site.agents.resolve_without_start(header.agent, staff=staff)
        # The file has no cells, and those of its first conversation belong to other messages.
        anew = say(READ_ANEW) if who.has_cache and header.count else ""
        return resumed.history, " ".join(note for note in (resumed.note, anew) if note)

    started = site.imports.start(owner, content, accept)
    assert started.task is not None
    await asyncio.wait([started.task], timeout=WAIT_SECONDS)
    if started.problem is not None:
        raise started.problem
    if started.conversation is not None:
        view = started.conversation.to_dict()
        return JsonResponse({"conversation": view, "note": started.note})
    if site.imports.of(owner) is not started:
        raise BadRestore(say("This was cancelled. Nothing was imported."))
    return JsonResponse({"import": started.to_dict()}, status=202)


def _on_disk(request: HttpRequest) -> IO[bytes]:
    """The request's file as one of our own, which outlives the request. Raises BadRestore."""
    upload = request.FILES.get("file")
    if upload is None and request.content_type == "multipart/form-data":
        raise BadRestore(say("The request holds no file. Nothing was imported."))
    if upload is not None and (upload.size or 0) > MAX_IMPORT_BYTES:
        raise BadRestore(say("The file is larger than 20 MB. Nothing was imported."))
    blocks = upload.chunks() if upload is not None else (request_body(request),)
    with ExitStack() as closing:
        content: IO[bytes] = closing.enter_context(tempfile.TemporaryFile())
        content.writelines(blocks)
        content.flush()
        closing.pop_all()  # the import closes it
        return content


@require_http_methods(["GET", "HEAD", "DELETE"])
@answers_errors
async def import_progress(request: HttpRequest) -> HttpResponse:
    """GET: the import under way or the last one, null for none. DELETE cancels it: nothing of it
    stays."""
    site, owner = site_of(request), await request_owner(request)
    if request.method == "DELETE":
        return JsonResponse({"cancelled": await site.imports.cancel(owner)})
    found = site.imports.of(owner)
    return JsonResponse({"import": found.to_dict() if found else None})
