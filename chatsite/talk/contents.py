"""What Talk's answers hold, and what a Nextcloud refuses, said for the administrator."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import aiohttp

from chatsite.channels.channel import Trouble
from chatsite.talk.text.messages import number

# The seconds for a server that asks for patience and doesn't say how long, and the most it may ask.
PATIENCE, MOST_PATIENCE = 30.0, 3600.0

# What a server may say of one file while all else works: it is gone, locked, may only be looked at,
# or isn't given to this account.
OF_A_FILE = tuple(status for status in range(400, 500) if status not in (401, 408, 425, 429))

# What the trouble concerns: the server, which isn't reached or has no time; the bot's account; one
# room; one request.
Concern = Literal["server", "busy", "account", "room", "request"]


class TalkTrouble(Trouble):
    """Nextcloud refused a request, or didn't answer."""

    def __init__(self, message: str, *, concern: Concern, seconds: float = 0.0) -> None:
        super().__init__(message, seconds=seconds)
        self.concern = concern


class AnswerTooLong(TalkTrouble):
    """The answer is too long to read. `last_given` is a message of the page, the last one if the
    server says which; 0 if the answer doesn't look like Talk's."""

    def __init__(self, *, last_given: int) -> None:
        super().__init__("the server's answer is too long", concern="server")
        self.last_given = last_given


def no_talk() -> TalkTrouble:
    return TalkTrouble("the server's answer isn't Talk's", concern="server")


# What OCS says in its version 1, where the status above the answer is always one of success.
_VERSION_1 = {100: 200, 996: 500, 997: 401, 998: 404}


def require_success(response: aiohttp.ClientResponse, *, content_status: int = 0) -> None:
    """Raises TalkTrouble if a request didn't succeed. `content_status` is the status in the
    answer's content, 0 for none."""
    status = _VERSION_1.get(content_status, content_status) or response.status
    method = response.method
    if status == 304 or 200 <= status < 300:
        return
    if status == 401 or (status == 403 and method == "GET"):
        raise TalkTrouble("the user name or the app password isn't accepted", concern="account")
    if status == 403:
        raise TalkTrouble("the bot may not write in the room", concern="room")
    if status == 404:
        raise TalkTrouble("there is no such room for the bot", concern="room")
    if status == 412:
        raise TalkTrouble("the room's lobby is closed for the bot", concern="room")
    if 300 <= status < 400:
        raise TalkTrouble(
            "the server sends to another address; `server` must be the final one", concern="server"
        )
    raise TalkTrouble(
        f"the server answers with {status}",
        concern="busy" if status in (408, 425, 429) or status >= 500 else "request",
        seconds=_patience(response.headers.get("Retry-After", ""), status),
    )


def require_file(response: aiohttp.ClientResponse) -> None:
    """Raises TalkTrouble if the server refuses only this file."""
    if response.status in OF_A_FILE:
        raise TalkTrouble(f"the server answers with {response.status}", concern="request")


def _patience(seconds: str, status: int) -> float:
    if seconds.isascii() and seconds.isdigit() and len(seconds) < 9:
        return min(float(seconds), MOST_PATIENCE)
    return PATIENCE if status == 429 else 0.0


def broken(error: Exception) -> str:
    """Says what broke, without the library's own words, which hold the address."""
    if isinstance(error, aiohttp.ClientConnectorDNSError):
        return "there is no server of this name"
    if isinstance(error, aiohttp.ClientConnectorCertificateError | aiohttp.ClientSSLError):
        return "its certificate isn't valid"
    if isinstance(error, aiohttp.ClientConnectorError):
        return "nothing listens there"
    return "the connection broke"


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
