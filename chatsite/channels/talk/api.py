"""The requests to Nextcloud: Talk's chat API, and the files that are shared in a room.

https://nextcloud-talk.readthedocs.io/en/latest/chat/. No redirect is followed, so that the password
is sent to the configured server and nowhere else; no error names it.
"""

from __future__ import annotations

import asyncio
import base64
import json
from collections.abc import AsyncGenerator, AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote, urlsplit

import aiohttp
from yarl import URL

from chatsite.channels.talk.refusals import TalkTrouble, broken, require_success
from chatsite.messages import MAX_ATTACHMENT_BYTES

POLL_SECONDS = 30
# Beyond a poll's own time: connecting, and reading a hundred long messages.
REQUEST_SECONDS = 30.0
FILE_SECONDS = 600.0
PAGE = 100
# A hundred messages of 32,000 characters, each with the one that it replies to.
LARGEST_ANSWER = 32 * 1024 * 1024
LONGEST_MESSAGE = 32_000


@dataclass(frozen=True, slots=True)
class Page:
    """Messages of a room as they came, and the number of the last one that was given."""

    messages: Sequence[Any]
    last_given: int


class TalkApi:
    """One Nextcloud and the bot's account there. The session is made with the first request."""

    def __init__(self, *, server: str, user: str, password: str) -> None:
        self.server, self.user = server, user
        key = base64.b64encode(f"{user}:{password}".encode()).decode()
        self._headers = {
            "Authorization": f"Basic {key}",
            "OCS-APIRequest": "true",
            "Accept": "application/json",
        }
        self._session: aiohttp.ClientSession | None = None

    def __repr__(self) -> str:
        return f"TalkApi({self.server!r}, {self.user!r})"

    async def close(self) -> None:
        if self._session is not None:
            await self._session.close()

    # ---- rooms -------------------------------------------------------------------------------
    async def newest(self, token: str) -> int:
        """The number of a room's newest message, 0 in an empty one."""
        asked = {"lookIntoFuture": "0", "limit": "1", "setReadMarker": "0"}
        found = await self._page(token, asked)
        numbers = [one.get("id") for one in found.messages if isinstance(one, dict)]
        return max((one for one in numbers if isinstance(one, int)), default=0)

    async def poll(self, token: str, *, after: int, seconds: int = POLL_SECONDS) -> Page:
        """What came after the message `after`, waiting so long for it; an empty page for
        nothing."""
        asked = {
            "lookIntoFuture": "1",
            "timeout": str(seconds),
            "lastKnownMessageId": str(after),
            "limit": str(PAGE),
            "includeLastKnown": "0",
            "noStatusUpdate": "1",
        }
        return await self._page(token, asked, seconds=seconds, after=after)

    async def _page(
        self, token: str, asked: Mapping[str, str], *, seconds: int = 0, after: int = 0
    ) -> Page:
        patience = seconds + REQUEST_SECONDS
        async with self._asked("GET", _chat(token), asked=asked, seconds=patience) as response:
            if response.status == 304:
                return Page((), after)
            found = await _data(response)
            if not isinstance(found, list):
                raise _no_talk()
            given = response.headers.get("X-Chat-Last-Given", "")
            return Page(found, int(given) if given.isascii() and given.isdigit() else after)

    async def room(self, token: str) -> Mapping[str, Any]:
        """What the server says of a room."""
        return await self._object(f"/ocs/v2.php/apps/spreed/api/v4/room/{quote(token)}")

    async def account(self) -> Mapping[str, Any]:
        """What the server says of the bot's account."""
        return await self._object("/ocs/v2.php/cloud/user")

    async def capabilities(self) -> Mapping[str, Any]:
        """What Talk can do there, {} where it isn't installed."""
        found = await self._object("/ocs/v2.php/cloud/capabilities")
        spreed = _within(found, "capabilities", "spreed")
        return spreed if isinstance(spreed, dict) else {}

    async def longest_message(self) -> int:
        """How many characters a message may have."""
        most = _within(await self.capabilities(), "config", "chat", "max-length")
        return most if isinstance(most, int) and most >= 100 else LONGEST_MESSAGE

    # ---- posts -------------------------------------------------------------------------------
    async def post(self, token: str, text: str, *, reference: str, reply_to: int = 0) -> Any:
        """Post a message; what the server says of it then. A reply to what was deleted meanwhile
        is posted without the reply."""
        body: dict[str, Any] = {"message": text, "referenceId": reference}
        if reply_to:
            body["replyTo"] = reply_to
        async with self._asked("POST", _chat(token), body=body, may_fail=(400,)) as response:
            if response.status != 400:
                return await _data(response)
        if not reply_to:
            raise TalkTrouble("the room doesn't take this message", concern="request")
        return await self.post(token, text, reference=reference)

    # ---- files -------------------------------------------------------------------------------
    async def download(self, path: str) -> AsyncGenerator[bytes, None]:
        """The bytes of a file that was shared with the bot; one block more than is allowed, so that
        who takes them sees that it is too large."""
        parts = [quote(part, safe="") for part in path.split("/") if part not in ("", ".", "..")]
        place = f"/remote.php/dav/files/{quote(self.user, safe='')}/{'/'.join(parts)}"
        size = 0
        async with self._asked("GET", place, seconds=FILE_SECONDS) as response:
            async for block in response.content.iter_any():
                yield block
                size += len(block)
                if size > MAX_ATTACHMENT_BYTES:
                    return

    # ---- requests ----------------------------------------------------------------------------
    async def _object(self, path: str) -> Mapping[str, Any]:
        async with self._asked("GET", path) as response:
            found = await _data(response)
        if not isinstance(found, dict):
            raise _no_talk()
        return found

    @asynccontextmanager
    async def _asked(
        self,
        method: str,
        path: str,
        *,
        asked: Mapping[str, str] | None = None,
        body: Mapping[str, Any] | None = None,
        seconds: float = REQUEST_SECONDS,
        may_fail: Sequence[int] = (),
    ) -> AsyncIterator[aiohttp.ClientResponse]:
        """The response to a request that was accepted. Raises TalkTrouble."""
        if self._session is None:
            # Every room holds a connection as long as it waits for something new.
            self._session = aiohttp.ClientSession(
                connector=aiohttp.TCPConnector(limit=0), cookie_jar=aiohttp.DummyCookieJar()
            )
        try:
            async with self._session.request(
                method,
                URL(self.server + path, encoded=True),
                params=asked,
                json=body,
                headers=self._headers,
                allow_redirects=False,
                timeout=aiohttp.ClientTimeout(total=seconds),
            ) as response:
                if response.status not in may_fail:
                    require_success(response, method)
                yield response
        except (aiohttp.ClientError, TimeoutError, OSError) as error:
            # The library's own words hold the address, and a proxy's password with it.
            why = "it doesn't answer in time" if isinstance(error, TimeoutError) else broken(error)
            host = urlsplit(self.server).netloc
            raise TalkTrouble(f"{host} can't be reached: {why}", concern="server") from None


def _chat(token: str) -> str:
    return f"/ocs/v2.php/apps/spreed/api/v1/chat/{quote(token, safe='')}"


async def _data(response: aiohttp.ClientResponse) -> Any:
    """What stands under `ocs.data` of an answer."""
    content = bytearray()
    async for block in response.content.iter_any():
        content += block
        if len(content) > LARGEST_ANSWER:
            raise TalkTrouble("the server's answer is too long", concern="server")
    try:
        found = await asyncio.to_thread(json.loads, bytes(content))
    except (ValueError, RecursionError):
        raise _no_talk() from None
    data = _within(found, "ocs", "data")
    if data is None:
        raise _no_talk()
    return data


def _no_talk() -> TalkTrouble:
    return TalkTrouble("the server's answer isn't Talk's", concern="server")


def _within(value: Any, *keys: str) -> Any:
    """What stands under these keys, one in the other; None where nothing does."""
    for key in keys:
        value = value.get(key) if isinstance(value, dict) else None
    return value
