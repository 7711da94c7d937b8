"""What the page asks over HTTP: lists, names, files. Every object is found through its owner."""

from __future__ import annotations

import asyncio
import functools
import json
from collections.abc import Callable, Coroutine
from typing import Any
from uuid import UUID

from django.core.exceptions import RequestDataTooBig
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.http.response import HttpResponseBase
from django.utils.text import slugify
from django.views.decorators.http import require_GET, require_http_methods, require_POST

from chatsite.conversations import store
from chatsite.conversations.files.export import read_export, write_export
from chatsite.errors import BadCommand, BadRestore, ChatsiteError, NotFound, Refused
from chatsite.events import Cleared, Deleted, PathChanged, Renamed
from chatsite.messages import UNSOUND
from chatsite.turns.answer.sent_requests import rebuild_request
from chatsite.web.api.resume import cleanup_of, resumed_under
from chatsite.web.people import is_staff, owner_of, site_of

MAX_IMPORT_BYTES = 20 * 1024 * 1024
STATUS: tuple[tuple[type[ChatsiteError], int], ...] = (
    (NotFound, 404),
    (Refused, 409),
    (BadCommand, 400),
    (BadRestore, 400),
    (ChatsiteError, 500),
)
View = Callable[..., Coroutine[Any, Any, HttpResponseBase]]


def answers_errors(view: View) -> View:
    """Our own errors become `{code, message}` with their status."""

    @functools.wraps(view)
    async def wrapped(request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponseBase:
        try:
            return await view(request, *args, **kwargs)
        except ChatsiteError as error:
            status = next(status for kind, status in STATUS if isinstance(error, kind))
            return JsonResponse({"code": error.code, "message": error.message}, status=status)

    return wrapped


def body_of(request: HttpRequest) -> bytes:
    try:
        return request.body
    except RequestDataTooBig:
        raise BadCommand("The request's body is too large.") from None


def fields(request: HttpRequest) -> dict[str, Any]:
    try:
        body = json.loads(body_of(request) or b"{}")
    except (ValueError, RecursionError):
        raise BadCommand("The request's body is not JSON.") from None
    if not isinstance(body, dict):
        raise BadCommand("The request's body is not a JSON object.")
    return body


def sound(text: str) -> str:
    """Raise BadCommand for what no database can store: halves of characters, and NUL."""
    if UNSOUND.search(text):
        raise BadCommand("This text holds characters that can't be stored.")
    return text


@require_GET
@answers_errors
async def conversations(request: HttpRequest) -> HttpResponse:
    text = sound(request.GET.get("q", "").strip()[:200])
    found = await site_of(request).run(
        store.list_conversations, owner=await owner_of(request), text=text
    )
    rows = [conversation.to_dict() for conversation in found]
    return JsonResponse({"conversations": rows, "count": len(rows)})


@require_http_methods(["PATCH", "DELETE"])
@answers_errors
async def conversation(request: HttpRequest, id: UUID) -> HttpResponse:
    site, owner = site_of(request), await owner_of(request)
    if request.method == "DELETE":
        await site.run(store.delete_conversation, owner=owner, conversation=str(id))
        site.recaller.forget(str(id))
        site.cache.forget(str(id))
        site.turns.publish(str(id), Deleted())
        return JsonResponse({"deleted": str(id)})
    title = fields(request).get("title")
    if not isinstance(title, str) or not title.strip():
        raise BadCommand("A title needs at least one character.")
    sound(title)
    renamed = await site.run(
        store.rename_conversation, owner=owner, conversation=str(id), title=" ".join(title.split())
    )
    site.turns.publish(str(id), Renamed(title=renamed.title))
    return JsonResponse({"conversation": renamed.to_dict()})


@require_POST
@answers_errors
async def restore(request: HttpRequest, id: UUID) -> HttpResponse:
    found = await site_of(request).run(
        store.undelete_conversation, owner=await owner_of(request), conversation=str(id)
    )
    return JsonResponse({"conversation": found.to_dict()})


@require_POST
@answers_errors
async def clear(request: HttpRequest, id: UUID) -> HttpResponse:
    site = site_of(request)
    await site.run(store.clear_conversation, owner=await owner_of(request), conversation=str(id))
    site.recaller.forget(str(id))
    await site.cache.drop(str(id))
    site.turns.publish(str(id), Cleared())
    return JsonResponse({"cleared": str(id)})


@require_GET
@answers_errors
async def messages(request: HttpRequest, id: UUID) -> HttpResponse:
    before = request.GET.get("before", "")
    if not (before.isascii() and before.isdigit() and len(before) < 10):
        raise BadCommand("before is the number of a message.")
    found, earlier = await site_of(request).run(
        store.earlier_messages,
        owner=await owner_of(request),
        conversation=str(id),
        before=int(before),
    )
    return JsonResponse({"messages": [view.to_dict() for view in found], "earlier": earlier})


@require_POST
@answers_errors
async def show(request: HttpRequest, id: UUID) -> HttpResponse:
    """Put another version of an answer on the path: the one that begins with this message."""
    site = site_of(request)
    changed = await site.run(store.show_version, owner=await owner_of(request), message=str(id))
    site.recaller.forget(changed)
    site.turns.publish(changed, PathChanged())
    return HttpResponse(status=204)


@require_GET
@answers_errors
async def export(request: HttpRequest, id: UUID) -> HttpResponse:
    site = site_of(request)
    whole = await site.run(store.whole_path, owner=await owner_of(request), conversation=str(id))
    cleanup = cleanup_of(site, whole.conversation.agent)
    content = await asyncio.to_thread(write_export, whole, cleanup=cleanup)
    response = HttpResponse(content, content_type="application/json")
    name = slugify(whole.conversation.title) or "conversation"
    response["Content-Disposition"] = f'attachment; filename="{name}.chatsite.json"'
    return response


@require_POST
@answers_errors
async def import_file(request: HttpRequest) -> HttpResponse:
    """The answer's `query` is what the page's address says so that the next message is decided as
    the file's last one was, as far as a link may; `note` says where that isn't so."""
    upload = request.FILES.get("file")
    if upload is not None and (upload.size or 0) > MAX_IMPORT_BYTES:
        raise BadRestore("The file is larger than 20 MB. Nothing was restored.")
    site = site_of(request)
    content = upload.read() if upload is not None else body_of(request)
    # Some 0.1 s a megabyte, in which nobody else would be answered.
    saved = await asyncio.to_thread(read_export, content)
    template = site.catalogue.get(saved.agent)
    view = await site.run(
        store.import_conversation,
        owner=await owner_of(request),
        agent=saved.agent,
        title=saved.title,
        messages=saved.messages,
        pinned=saved.pinned,
        excluded=saved.excluded,
        forget_above=saved.forget_above,
    )
    resumed = resumed_under(saved.settings, template.chat_settings, staff=await is_staff(request))
    return JsonResponse({"conversation": view.to_dict(), **resumed.to_dict()})


@require_GET
@answers_errors
async def receipt(request: HttpRequest, id: UUID) -> HttpResponse:
    site = site_of(request)
    if not site.may_debug(staff=await is_staff(request)):
        raise NotFound("There is no such answer.")
    found = await site.run(store.receipt_of, owner=await owner_of(request), turn=str(id))
    if found is None:
        raise NotFound("This answer has no receipt.")
    return JsonResponse(dict(found))


@require_GET
@answers_errors
async def sent_request(request: HttpRequest, id: UUID) -> HttpResponse:
    """The exact request of a turn, for staff or with DEBUG."""
    site, staff = site_of(request), await is_staff(request)
    if not (site.may_debug(staff=staff) and site.may_see_request(staff=staff)):
        raise NotFound("There is no such answer.")
    owner = await owner_of(request)
    kept = await site.run(store.request_parts, owner=owner, turn=str(id))
    head = site.agents.would_answer(kept.agent).head
    rebuilt = await rebuild_request(kept, head, site.turns.decider.files(owner))
    return JsonResponse(rebuilt.to_dict())
