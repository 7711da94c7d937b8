"""The requests to Nextcloud: Talk's chat API, and the files that are shared in a room.

https://nextcloud-talk.readthedocs.io/en/latest/chat/. No redirect is followed, so that the password
is sent to the configured server and nowhere else; no error names it.
"""

from __future__ import annotations

import base64
from collections.abc import AsyncGenerator, AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from typing import Any
from urllib.parse import quote, urlsplit

import aiohttp
from yarl import URL

from chatsite.messages import MAX_ATTACHMENT_BYTES
from chatsite.talk.contents import (
    OF_A_FILE,
    AnswerTooLong,
    Page,
    TalkTrouble,
    broken,
    data,
    entries,
    is_with_room,
    last_given,
    no_talk,
    require_file,
    require_success,
    steps,
    within,
)
from chatsite.talk.records import RoomFile
from chatsite.talk.text.messages import number, thread_of

POLL_SECONDS = 30
# Beyond a poll's own time: connecting, and reading a hundred long messages.
REQUEST_SECONDS = 30.0
FILE_SECONDS = 600.0
PAGE = 20
LONGEST_MESSAGE = 32_000
_SHARES = "/ocs/v2.php/apps/files_sharing/api/v1/shares"


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
        """Asks for the number of a room's newest message; 0 stands for an empty room. Talk may show
        this message to nobody: the page is empty then, and the number stands above it."""
        asked = {"lookIntoFuture": "0", "limit": "1", "setReadMarker": "0"}
        try:
            found = await self._page(token, asked)
        except AnswerTooLong as trouble:
            if not trouble.last_given:
                raise
            return trouble.last_given
        numbers = [one.get("id") for one in found.messages if isinstance(one, dict)]
        return max([found.last_given, *map(number, numbers)])

    async def poll(
        self, token: str, *, after: int, seconds: int = POLL_SECONDS, limit: int = PAGE
    ) -> Page:
        """Waits so many seconds for messages after the message `after`; an empty page stands for
        none.

        If the answer is too long, fewer messages are asked for. A message that is too long alone is
        passed: the same page again, for ever, would silence the bot.
        """
        asked = {
            "lookIntoFuture": "1",
            "timeout": str(seconds),
            "lastKnownMessageId": str(after),
            "includeLastKnown": "0",
            "noStatusUpdate": "1",
        }
        while True:
            some = {**asked, "limit": str(limit)}
            try:
                return await self._page(token, some, seconds=seconds, after=after)
            except AnswerTooLong as trouble:
                if not trouble.last_given:
                    raise
                if limit <= 1:
                    return Page((), max(trouble.last_given, after + 1), passed=True)
            limit //= 2

    async def _page(
        self, token: str, asked: Mapping[str, str], *, seconds: int = 0, after: int = 0
    ) -> Page:
        patience = seconds + REQUEST_SECONDS
        async with self._asked("GET", _chat(token), asked=asked, seconds=patience) as response:
            if response.status == 304:
                return Page((), after)
            found = entries(await data(response))
            return Page(found, last_given(response) or after)

    async def room(self, token: str) -> Mapping[str, Any]:
        """Asks what the server says of a room."""
        return await self._object(f"/ocs/v2.php/apps/spreed/api/v4/room/{quote(token)}")

    async def described(self, token: str) -> Mapping[str, Any]:
        """Asks the same; {} stands for a description that is too long: it has the room's last
        message."""
        try:
            return await self.room(token)
        except AnswerTooLong:
            return {}

    async def account(self) -> Mapping[str, Any]:
        """Asks what the server says of the bot's account."""
        return await self._object("/ocs/v2.php/cloud/user")

    async def capabilities(self) -> Mapping[str, Any]:
        """Asks what Talk can do there; {} if Talk isn't installed."""
        found = await self._object("/ocs/v2.php/cloud/capabilities")
        spreed = within(found, "capabilities", "spreed")
        return spreed if isinstance(spreed, dict) else {}

    async def longest_message(self) -> int:
        """Asks how many characters a message may have."""
        most = number(within(await self.capabilities(), "config", "chat", "max-length"))
        return most if most >= 100 else LONGEST_MESSAGE

    # ---- posts -------------------------------------------------------------------------------
    async def thread_of(self, token: str, number: int) -> int:
        """Finds the thread that a message stands in; 0 stands for none."""
        page = await self.poll(token, after=number - 1, seconds=0, limit=1)
        return thread_of(page.messages[0], number) if page.messages else 0

    async def post(
        self,
        token: str,
        text: str,
        *,
        reference: str,
        reply_to: int = 0,
        thread: int = 0,
        silent: bool = False,
    ) -> Any:
        """Posts a message, and returns what the server says of it. If the message that it replies
        to was deleted meanwhile, it is posted in the thread, and without a thread that is gone.
        Nobody is notified of a `silent` one."""
        body: dict[str, Any] = {"message": text, "referenceId": reference}
        if silent:
            body["silent"] = True
        if reply_to:
            body["replyTo"] = reply_to
        elif thread:
            body["threadId"] = thread
        async with self._asked("POST", _chat(token), body=body, may_fail=(400,)) as response:
            if response.status != 400:
                return await data(response)
        if not reply_to and not thread:
            raise TalkTrouble("the room doesn't take this message", concern="request")
        left = thread if reply_to else 0
        return await self.post(token, text, reference=reference, thread=left, silent=silent)

    # ---- files -------------------------------------------------------------------------------
    async def is_shared(self, token: str, file: RoomFile) -> bool:
        """Tells whether the server has a share with this room for the file, or for a folder around
        it: the bot can read the files of all its rooms, and a message says what its sender likes.
        Raises TalkTrouble if there is no such file."""
        parts = steps(file.path)
        for end in range(len(parts), 0, -1):
            asked = {"path": "/" + "/".join(parts[:end]), "shared_with_me": "true"}
            async with self._asked("GET", _SHARES, asked=asked, may_fail=OF_A_FILE) as response:
                require_file(response)
                try:
                    found = entries(await data(response))
                except AnswerTooLong as trouble:  # it will be as long the next time
                    raise TalkTrouble(trouble.message, concern="request") from None
            with_room = [one for one in found if is_with_room(one, token)]
            if end == len(parts) and file.id:  # an earlier version stored none
                with_room = [one for one in with_room if number(one.get("file_source")) == file.id]
            if with_room:
                return True
        return False

    async def download(self, path: str) -> AsyncGenerator[bytes, None]:
        """Gives the bytes of a file that was shared with the bot; one block more than is allowed,
        so that the caller sees that the file is too large."""
        parts = [quote(part, safe="") for part in steps(path)]
        place = f"/remote.php/dav/files/{quote(self.user, safe='')}/{'/'.join(parts)}"
        size = 0
        async with self._asked("GET", place, seconds=FILE_SECONDS, may_fail=OF_A_FILE) as response:
            require_file(response)
            async for block in response.content.iter_any():
                yield block
                size += len(block)
                if size > MAX_ATTACHMENT_BYTES:
                    return

    # ---- requests ----------------------------------------------------------------------------
    async def _object(self, path: str) -> Mapping[str, Any]:
        async with self._asked("GET", path) as response:
            found = await data(response)
        if not isinstance(found, dict):
            raise no_talk()
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
        """Makes a request, and gives the response if it was accepted. Raises TalkTrouble."""
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
                    require_success(response)
                yield response
        except (aiohttp.ClientError, TimeoutError, OSError) as error:
            # The library's own words hold the address, and a proxy's password with it.
            why = "it doesn't answer in time" if isinstance(error, TimeoutError) else broken(error)
            host = urlsplit(self.server).netloc
            raise TalkTrouble(f"{host} can't be reached: {why}", concern="server") from None


def _chat(token: str) -> str:
    return f"/ocs/v2.php/apps/spreed/api/v1/chat/{quote(token, safe='')}"
