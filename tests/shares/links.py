"""What tests do with links: make one, open one as a stranger."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

import aiohttp
from multidict import CIMultiDictProxy

from tests.person import Page, Person
from tests.running import Server
from tests.shares.conftest import ADA


@dataclass(frozen=True)
class Opened:
    """What a stranger gets."""

    status: int
    text: str
    headers: CIMultiDictProxy[str]

    @property
    def messages(self) -> str:
        """Without the head of the page, whose title is always the chat's present one."""
        return self.text.partition("</header>")[2]


async def opened(server: Server, path: str, *, method: str = "GET", **headers: str) -> Opened:
    """A request with these headers alone: no cookie is kept from one to the next."""
    async with (
        aiohttp.ClientSession(cookie_jar=aiohttp.DummyCookieJar()) as http,
        http.request(method, server.url + path, headers=headers, allow_redirects=False) as answer,
    ):
        return Opened(answer.status, await answer.text(errors="replace"), answer.headers)


@asynccontextmanager
async def signed_in(server: Server, account: tuple[str, str] = ADA) -> AsyncIterator[Person]:
    async with Person(server.url) as person:
        await person.sign_in(*account)
        yield person


async def share(person: Person, page: Page, **wish: Any) -> dict[str, Any]:
    """A new link to the conversation: `path` opens it."""
    made = await person.ask("POST", f"/conversations/{page.conversation}/shares", wish)
    found: dict[str, Any] = made["share"]
    return found


def message_ids(page: Page) -> list[str]:
    """Of the messages that the page was told of, in order and each once."""
    told = [event["message"]["id"] for event in page.events if "message" in event]
    return list(dict.fromkeys(told))
