"""The sidebar's requests: where conversations stand in it, several at once, and the way back."""

from __future__ import annotations

from typing import Any, get_args
from uuid import UUID

from django.http import HttpRequest, HttpResponse, JsonResponse

from chatsite.conversations.arrangement import (
    Mark,
    Place,
    mark_conversations,
    move_conversations,
    put_back,
    rename_folder,
    require_own,
)
from chatsite.conversations.owners import Owner
from chatsite.errors import BadCommand
from chatsite.events import Deleted
from chatsite.web.api.requests import json_fields, storable, takes, time_in_utc
from chatsite.web.people import request_owner, site_of
from chatsite.wiring.site import Site
from chatsite.wording import later, say

MOST = 500
FOLDER_LENGTH = 60
MARKS: tuple[str, ...] = get_args(Mark)
BACK = later("back is a list of what former was in an answer.")


@takes("POST")
async def changes(request: HttpRequest) -> HttpResponse:
    """Takes `{"ids": [...]}` with `"set"`, a mark and whether it is on or a folder; or `"folder"`
    with its other `"name"`; or `"back"`. Gives as `former` what takes it back."""
    site, owner, fields = site_of(request), await request_owner(request), json_fields(request)
    if "back" in fields:
        await put_back(owner=owner, places=_places(fields["back"]))
        return JsonResponse({"former": []})
    if "folder" in fields:
        former = await rename_folder(
            owner=owner,
            folder=folder_name(fields["folder"]) or "",
            name=folder_name(fields.get("name")),
        )
    else:
        former = await _change(site, owner, _ids(fields.get("ids")), fields.get("set"))
    return JsonResponse({"former": [place.to_dict() for place in former]})


async def _change(site: Site, owner: Owner, ids: list[UUID], wanted: Any) -> list[Place]:
    if not isinstance(wanted, dict) or len(wanted) != 1:
        raise BadCommand(say("set is an object with one field."))
    ((name, value),) = wanted.items()
    if name == "folder":
        return await move_conversations(owner=owner, ids=ids, folder=folder_name(value))
    if name not in MARKS or not isinstance(value, bool) or (name == "deleted" and not value):
        raise BadCommand(
            say("set holds folder, or pinned, archived or deleted, which are true or false.")
        )
    if name == "deleted":
        await require_own(owner=owner, ids=ids)
        # What would still be written is paid for, and nobody would read it.
        for id in ids:
            await site.turns.stop(owner, str(id))
    former = await mark_conversations(owner=owner, ids=ids, mark=name, on=value)
    if name == "deleted":
        for id in ids:
            forget_deleted(site, str(id))
    return former


def forget_deleted(site: Site, id: str) -> None:
    """Tells every page that has the conversation open, and frees what is kept for it."""
    site.recaller.forget(id)
    site.cache.forget(id)
    site.feeds.publish(id, Deleted())


def folder_name(value: Any) -> str | None:
    """Reads a folder's name; None stands for none."""
    if value is None:
        return None
    name = " ".join(value.split()) if isinstance(value, str) else ""
    if not 0 < len(name) <= FOLDER_LENGTH:
        raise BadCommand(say("A folder's name has 1 to {most} characters.", most=FOLDER_LENGTH))
    return storable(name)


def _ids(value: Any) -> list[UUID]:
    try:
        ids = [UUID(one) for one in value]
        if 0 < len(set(ids)) == len(ids) <= MOST:
            return ids
    except (ValueError, AttributeError, TypeError):
        pass
    raise BadCommand(say("ids are those of 1 to {most} conversations.", most=MOST))


def _places(value: Any) -> list[Place]:
    try:
        ids = _ids([one["id"] for one in value])
        return [
            Place(
                id=str(id),
                pinned=_time(one["pinned"]),
                archived=_time(one["archived"]),
                folder=folder_name(one["folder"]),
            )
            for id, one in zip(ids, value, strict=True)
        ]
    except (ValueError, TypeError, KeyError, OverflowError):
        raise BadCommand(say(BACK)) from None


def _time(value: Any) -> str | None:
    return None if value is None else time_in_utc(value).isoformat()
