"""Reads the server's answers, and never more of one than a page of a room may have."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import aiohttp

from chatsite.talk.refusals import AnswerTooLong, no_talk, require_success
from chatsite.talk.text.messages import number

# Five messages of 32,000 characters, each with the one that it replies to, in twelve bytes each: so
# JSON writes an emoji. A longer page is asked for in smaller ones: to parse twice as much at once
# cost everybody else another 0.4 s.
LARGEST_ANSWER = 4 * 1024 * 1024

# What Nextcloud's file sharing calls a share with a Talk room.
ROOM_SHARE = 10

# Where a page begins: the number of its first message.
_FIRST = re.compile(rb'"data":\s*\[\s*\{\s*"id":\s*([0-9]{1,18})[,\s]')


@dataclass(frozen=True, slots=True)
class Page:
    """Messages of a room as they came, and the number of the last one that the server gave. With
    `passed` the message up to there is longer than any answer may be, and isn't on the page."""

    messages: Sequence[Any]
    last_given: int
    passed: bool = False


def last_given(response: aiohttp.ClientResponse) -> int:
    """Reads from the headers the number of a page's last message; 0 if they don't have it."""
    return number(response.headers.get("X-Chat-Last-Given"))


async def data(response: aiohttp.ClientResponse) -> Any:
    """Reads `ocs.data` of an answer. Raises AnswerTooLong, TalkTrouble."""
    content = bytearray()
    async for block in response.content.iter_any():
        content += block
        if len(content) > LARGEST_ANSWER:
            first = _FIRST.search(content, 0, 10_000)
            raise AnswerTooLong(last_given=last_given(response) or (int(first[1]) if first else 0))
    try:
        found = await asyncio.to_thread(json.loads, bytes(content))
    except (ValueError, RecursionError):
        raise no_talk() from None
    value = within(found, "ocs", "data")
    if value is None:
        raise no_talk()
    status = number(within(found, "ocs", "meta", "statuscode"))
    require_success(response, content_status=status)
    return value


def entries(value: Any) -> Sequence[Any]:
    """Reads a list, which PHP writes as an object after it has removed an entry."""
    if isinstance(value, dict):
        return list(value.values())
    if not isinstance(value, list):
        raise no_talk()
    return value


def within(value: Any, *keys: str) -> Any:
    """Follows these keys from one object into the next; None if one is missing."""
    for key in keys:
        value = value.get(key) if isinstance(value, dict) else None
    return value


def steps(path: str) -> list[str]:
    """Splits a path into names; none of them leads out of the bot's own files."""
    return [part for part in path.split("/") if part not in ("", ".", "..")]


def is_with_room(share: Any, token: str) -> bool:
    """Tells whether this share of a file is with the room."""
    if not isinstance(share, dict):
        return False
    return number(share.get("share_type")) == ROOM_SHARE and share.get("share_with") == token
