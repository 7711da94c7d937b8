"""A chat that one of two servers imports: the other one knows how far it is, and how it ended."""

from __future__ import annotations

import asyncio
import io
import json
from collections.abc import Callable
from typing import Any

import pytest

from tests.person import PATIENCE, Person
from tests.postgres import Postgres
from tests.running import Server
from tests.web.browser_requests import ask_from_page

pytestmark = pytest.mark.slow

Serve = Callable[..., Server]
PROGRESS = "/conversations/import/progress"


def saved(messages: int) -> str:
    said = [{"role": "user", "content": f"Line {number}"} for number in range(messages)]
    head = {"format": "chatsite.conversation", "version": 3, "agent": "demo", "title": "Log"}
    return json.dumps({**head, "messages": said})


async def begin(person: Person, at: Server, messages: int) -> int:
    """Send a file to this server; the status of its answer."""
    person.url = at.url
    body = io.BytesIO(saved(messages).encode())
    path, kind = "/conversations/import", "application/json"
    return (await ask_from_page(person, "POST", path, data=body, type=kind)).status


async def until(
    person: Person, at: Server, met: Callable[[dict[str, Any]], object]
) -> dict[str, Any]:
    """Ask this server how far it is, until something is so."""
    person.url = at.url
    async with asyncio.timeout(2 * PATIENCE):
        while True:
            found: dict[str, Any] | None = (await person.ask("GET", PROGRESS))["import"]
            if found is not None and met(found):
                return found
            await asyncio.sleep(0.05)


async def test_any_server_tells_how_far_an_import_is_and_how_it_ended(serve: Serve) -> None:
    first, second = serve(), serve()
    async with Person(first.url) as ada:
        assert await begin(ada, first, 4_000) in (200, 202)
        ended = await until(ada, second, lambda found: found["conversation"])
        assert (ended["title"], ended["done"], ended["problem"]) == ("Log", 4_000, None)
        listed = (await ada.ask("GET", "/conversations"))["conversations"]
        assert [one["id"] for one in listed] == [ended["conversation"]["id"]]


async def test_an_import_is_cancelled_on_any_server_and_nothing_of_it_stays(
    serve: Serve, postgres: Postgres
) -> None:
    first, second = serve(), serve()
    async with Person(first.url) as ada:
        assert await begin(ada, first, 60_000) == 202
        under_way = await until(ada, second, lambda found: found["done"])
        assert under_way["done"] < under_way["count"] == 60_000
        assert (await ada.page_data())["restoring"]
        assert (await ada.ask("DELETE", PROGRESS))["cancelled"]
        assert (await ada.ask("GET", PROGRESS))["import"] is None
        database = first.environment["DATABASE_URL"].rpartition("/")[2]
        async with asyncio.timeout(PATIENCE):
            rows = "SELECT count(*) FROM conversations_conversation"
            while int(postgres.psql(rows, database=database)):  # noqa: ASYNC110 - a server
                await asyncio.sleep(0.1)
        assert "Traceback" not in first.log


async def test_who_waits_for_an_import_of_a_killed_server_is_told_so(serve: Serve) -> None:
    first, second = serve(), serve()
    async with Person(first.url) as ada:
        assert await begin(ada, first, 60_000) == 202
        await until(ada, second, lambda found: found["done"])
        first.kill()
        ended = await until(ada, second, lambda found: found["problem"])
        assert "stopped" in ended["problem"]["message"]
        assert "Nothing was imported" in ended["problem"]["message"]
        assert not (await ada.page_data())["restoring"]
        assert not (await ada.ask("GET", "/conversations"))["conversations"]
        assert await begin(ada, second, 3) == 200
