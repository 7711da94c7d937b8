"""Attached files over HTTP: uploads, and downloads for their owner alone."""

from __future__ import annotations

import asyncio
from typing import Any, cast
from urllib.parse import unquote
from uuid import UUID

from django.http import HttpRequest, HttpResponse, JsonResponse, StreamingHttpResponse
from django.urls import reverse
from django.utils.http import content_disposition_header

from chatsite.conversations.files.uploads import (
    discard_upload,
    find_upload,
    open_upload,
    require_bytes,
    require_quota,
    store_upload,
)
from chatsite.conversations.owners import Owner
from chatsite.conversations.ownership import owner_now
from chatsite.encoding import encode_fields
from chatsite.errors import BadCommand
from chatsite.files.folder import safe_name
from chatsite.files.intake import ReceivedFile
from chatsite.files.kinds import IMAGES
from chatsite.messages import Attachment
from chatsite.temporary.chats import is_temporary_file, note_file
from chatsite.web.api.requests import takes
from chatsite.web.people import read_for, request_owner, site_of
from chatsite.web.server.bodies import StreamedBody
from chatsite.web.server.static_files import read_blocks
from chatsite.wording import say

LONGEST_HEADER = 4096
# No browser runs anything in a file, whatever its content, and no other site can embed it.
SAFE_HEADERS = {
    "Content-Security-Policy": "default-src 'none'; sandbox; frame-ancestors 'none'",
    "X-Content-Type-Options": "nosniff",
    "Cross-Origin-Resource-Policy": "same-origin",
    # Revalidated every time, so that a file disappears with its conversation.
    "Cache-Control": "private, no-cache",
}


@takes("POST")
async def files(request: HttpRequest) -> HttpResponse:
    """Takes a file as the body; the header X-File-Name is its name in percent encoding, and
    X-Temporary-Chat the chat that it is erased with."""
    site, owner = site_of(request), await request_owner(request)
    name, chat = _name(request), _temporary_chat(request)
    body: StreamedBody = cast(Any, request).scope["chatsite.body"]
    await require_quota(owner, size=body.length)
    try:
        coming = site.intake.taken(body.blocks(), owner=owner.key, guest=bool(owner.guest))
        async with coming as taken:
            kept = await _store_file(owner_now(owner), name, taken)
    except ConnectionError:
        return HttpResponse(status=400)  # the client is gone
    if chat:
        await note_file(owner=owner_now(owner), id=kept.id, conversation=chat)
    fields = encode_fields(kept) | {"url": reverse("file", args=[kept.id])}
    return JsonResponse({"attachment": fields | {"note": taken.note}})


def _temporary_chat(request: HttpRequest) -> str:
    """Gives the id of the temporary chat that the file goes with, "" for none."""
    value = request.headers.get("X-Temporary-Chat", "")
    try:
        return str(UUID(value)) if value else ""
    except ValueError:
        raise BadCommand(say("X-Temporary-Chat is the id of a conversation.")) from None


def _name(request: HttpRequest) -> str:
    value = request.headers.get("X-File-Name", "")
    if not value or len(value) > LONGEST_HEADER:
        raise BadCommand(say("A file needs a name, in the header X-File-Name. Nothing was kept."))
    return safe_name(unquote(value, errors="replace"))


async def _store_file(owner: Owner, name: str, taken: ReceivedFile) -> Attachment:
    """A client that disconnects now never learns the file's id, so the file is deleted again."""
    keeping = asyncio.ensure_future(store_upload(owner, name=name, taken=taken))
    try:
        return await asyncio.shield(keeping)
    except asyncio.CancelledError:
        await discard_upload(owner, id=(await keeping).id)
        raise


@takes("GET", "HEAD", "DELETE")
async def file(request: HttpRequest, id: UUID) -> HttpResponse | StreamingHttpResponse:
    if request.method == "DELETE":
        await discard_upload(await request_owner(request), id=str(id))
        return JsonResponse({"deleted": str(id)})
    _, attachment = await read_for(request, lambda owner: find_upload(owner, id=str(id)))
    headers = SAFE_HEADERS | {"ETag": f'"{id}"'}
    if await is_temporary_file(id=str(id)):
        headers["Cache-Control"] = "private, no-store"
    if request.headers.get("If-None-Match") == headers["ETag"]:
        await require_bytes(attachment)
        return HttpResponse(status=304, headers=headers)
    return await answer_file(request, attachment, headers)


async def answer_file(
    request: HttpRequest, attachment: Attachment, headers: dict[str, str]
) -> HttpResponse | StreamingHttpResponse:
    """Gives its bytes as a download. Raises NotFound, Refused where the store is away."""
    headers = headers | {
        "Content-Type": _content_type(attachment),
        "Content-Length": str(attachment.size),
        "Content-Disposition": content_disposition_header(True, attachment.name) or "",
    }
    if request.method == "HEAD":
        await require_bytes(attachment)
        return HttpResponse(headers=headers)
    return StreamingHttpResponse(read_blocks(await open_upload(attachment)), headers=headers)


def _content_type(attachment: Attachment) -> str:
    """Gives the type of an image only if the image was decoded at the upload."""
    if attachment.modality == "image" and attachment.mime_type in IMAGES:
        return attachment.mime_type
    return "application/octet-stream"
