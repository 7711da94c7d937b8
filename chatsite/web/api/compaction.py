"""Addresses by which a person compacts a conversation: the plan, a model's draft, apply, undo."""

from __future__ import annotations

from typing import Any
from uuid import UUID

from django.http import HttpRequest, HttpResponse, JsonResponse

from chatsite.errors import BadCommand
from chatsite.turns.evidence.compacting import Wanted
from chatsite.web.api.history import (
    MAX_CHARACTERS,
    stored_context,
    summaries_of,
    summary_words,
)
from chatsite.web.api.requests import json_fields, storable, takes
from chatsite.web.people import request_owner, site_of
from chatsite.wording import say

# Of what to keep in particular, of a model's label, and of the turns that are taken out: each of
# them is read and judged with every message from then on.
MAX_KEEP, MAX_LABEL, MAX_WITHOUT = 500, 80, 500


@takes("POST")
async def plan(request: HttpRequest, id: UUID) -> HttpResponse:
    """Says what would fold, of `{query, model, without, to, keep}`, and what `text` frees and
    lost, "" for a draft of ours."""
    body = json_fields(request)
    wanted, text = _wanted(body), _text(body, "text", MAX_CHARACTERS)
    context = await stored_context(request, id, body)
    return JsonResponse(await site_of(request).compactor.plan(context, wanted, text))


@takes("POST")
async def draft(request: HttpRequest, id: UUID) -> HttpResponse:
    """Has a model write one part: the same with `part`, from 0 on, and the `text` so far."""
    body = json_fields(request)
    wanted, part = _wanted(body), _number(body, "part")
    text = _text(body, "text", MAX_CHARACTERS)
    context = await stored_context(request, id, body)
    found = await site_of(request).compactor.draft(context, wanted, part=part, text=text)
    return JsonResponse(found)


@takes("POST")
async def compact(request: HttpRequest, id: UUID) -> HttpResponse:
    """Applies a text: the same with `text`, `by`, and the plan's `version` and `state`."""
    body = json_fields(request)
    wanted, text = _wanted(body), summary_words(body.get("text"))
    by, version = _text(body, "by", MAX_LABEL), _number(body, "version")
    state, context = _text(body, "state", MAX_LABEL), await stored_context(request, id, body)
    await site_of(request).compactor.apply(
        context, wanted, text=text, by=by, version=version, state=state
    )
    return await summaries_of(context.owner, id)


@takes("POST")
async def undo(request: HttpRequest, id: UUID) -> HttpResponse:
    """Undoes the compaction `{version}`."""
    return await _change_version(request, id, again=False)


@takes("POST")
async def again(request: HttpRequest, id: UUID) -> HttpResponse:
    """Applies the compaction `{version}` again that was undone."""
    return await _change_version(request, id, again=True)


async def _change_version(request: HttpRequest, id: UUID, *, again: bool) -> HttpResponse:
    version = _number(json_fields(request), "version")
    owner, compactor = await request_owner(request), site_of(request).compactor
    await compactor.undo(owner=owner, conversation=str(id), version=version, again=again)
    return await summaries_of(owner, id)


def _wanted(body: dict[str, Any]) -> Wanted:
    without, to = body.get("without", []), body.get("to")
    is_list = isinstance(without, list) and len(without) <= MAX_WITHOUT
    if not is_list or not all(map(_is_number, without)):
        raise BadCommand(
            say("without is a list of at most {most} message numbers.", most=MAX_WITHOUT)
        )
    if to is not None and not _is_number(to):
        raise BadCommand(say("to is a message's number, or null."))
    return Wanted(without=frozenset(without), to=to, keep=_text(body, "keep", MAX_KEEP))


def _is_number(value: object) -> bool:
    # In Python true is a number, too.
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 10**9


def _number(body: dict[str, Any], name: str) -> int:
    value = body.get(name)
    if not isinstance(value, int) or not _is_number(value):
        raise BadCommand(say("{name} is a whole number from 0 on.", name=name))
    return value


def _text(body: dict[str, Any], name: str, most: int) -> str:
    value = body.get(name, "")
    if not isinstance(value, str) or len(value) > most:
        raise BadCommand(
            say("{name} is a text of at most {most:,} characters.", name=name, most=most)
        )
    return storable(value.strip())
