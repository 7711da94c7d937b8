"""A person's own prompts over HTTP."""

from __future__ import annotations

from uuid import UUID

from django.http import HttpRequest, JsonResponse

from chatsite.errors import BadCommand
from chatsite.prompts.models import MAX_NAME, MAX_TEXT
from chatsite.prompts.prompts import change_prompt, delete_prompt, keep_prompt, list_prompts
from chatsite.web.api.requests import json_fields, storable, takes
from chatsite.web.people import known_person, request_owner
from chatsite.wording import say


@takes("GET", "POST")
async def prompts(request: HttpRequest) -> JsonResponse:
    """Lists all that the person has, or keeps one: `{"name", "text"}`."""
    if request.method == "GET":
        return JsonResponse({"prompts": await list_prompts(owner=await request_owner(request))})
    name, text = _fields(request)
    owner = await known_person(request)
    if owner is None:
        raise BadCommand(say("This needs a session. Reload the page; what you typed is kept."))
    return JsonResponse({"prompt": await keep_prompt(owner=owner, name=name, text=text)})


@takes("PUT", "DELETE")
async def prompt(request: HttpRequest, id: UUID) -> JsonResponse:
    """Changes both fields of a prompt, or deletes it."""
    owner = await request_owner(request)
    if request.method == "DELETE":
        await delete_prompt(owner=owner, id=id)
        return JsonResponse({"deleted": str(id)})
    name, text = _fields(request)
    return JsonResponse({"prompt": await change_prompt(owner=owner, id=id, name=name, text=text)})


def _fields(request: HttpRequest) -> tuple[str, str]:
    """The name, without the slash by which it is called, and the text."""
    body = json_fields(request)
    name, text = body.get("name"), body.get("text")
    if not isinstance(name, str) or not isinstance(text, str):
        raise BadCommand(say("A prompt has a name and a text."))
    name = " ".join(name.strip().removeprefix("/").split())
    if not name or len(name) > MAX_NAME:
        raise BadCommand(say("A name has 1 to {most} characters.", most=MAX_NAME))
    if not text.strip() or len(text) > MAX_TEXT:
        raise BadCommand(
            say(
                "A prompt has 1 to {most:,} characters; this one has {count:,}.",
                most=MAX_TEXT,
                count=len(text),
            )
        )
    return storable(name), storable(text)
