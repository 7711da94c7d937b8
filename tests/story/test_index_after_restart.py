"""Under `relevant` the first turn after a restart loads the index instead of reading all again."""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from tests.fakes.openai_server import FakeOpenAI
from tests.person import Page, Person
from tests.running import Server
from tests.story.conftest import provider_environment

QUERY = "historyPolicy=relevant&historyTokens=4000"
# Nine passages each, so that few turns make an index that is worth saving.
LONG = "The keeper walks along the harbour and counts the boats. " * 150
TURNS = 10


@pytest.fixture
def own_server(fake: FakeOpenAI, tmp_path: Path) -> Iterator[Server]:
    with Server(tmp_path, **provider_environment(fake)) as server:
        yield server
        server.kill()


async def stored(server: Server, statement: str) -> list[tuple[Any, ...]]:
    def run() -> list[tuple[Any, ...]]:
        with closing(sqlite3.connect(server.folder / "chatsite.sqlite3", timeout=20)) as rows:
            found = rows.execute(statement).fetchall()
            rows.commit()
            return found

    return await asyncio.to_thread(run)


async def report_after(ada: Person, page: Page, text: str) -> dict[str, Any]:
    ended = await page.say(text)
    receipt = await ada.ask("GET", f"/turns/{ended['turn']}/receipt")
    found: dict[str, Any] = receipt["reports"]["lexical"]
    return found


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("damage", "read_again"),
    [
        ("", False),
        ("UPDATE conversations_searchindexpart SET data = zeroblob(200)", True),
        ("UPDATE conversations_searchindexpart SET tokens = zeroblob(200)", True),
    ],
    ids=["whole", "words broken", "tokens broken"],
)
async def test_a_restart_reads_only_what_was_not_saved_or_is_broken(
    own_server: Server, damage: str, read_again: bool
) -> None:
    async with Person(own_server.url) as ada:
        page = await ada.page(agent="demo", query=QUERY)
        await page.say("My sister Ana keeps a petrel.")
        for number in range(2, TURNS):
            await page.say(f"Day {number}. {LONG}")
        before = await report_after(ada, page, f"The last day. {LONG}")
        async with asyncio.timeout(20):
            parts = "SELECT 1 FROM conversations_searchindexpart"
            while not await stored(own_server, parts):  # noqa: ASYNC110 - another process
                await asyncio.sleep(0.05)
        await page.close()
        own_server.stop()
        if damage:
            await stored(own_server, damage)
        own_server.start()
        page = await ada.page(page.conversation, query=QUERY)
        after = await report_after(ada, page, "What does my sister Ana keep?")
        assert after["vectors"] == before["vectors"] == "wordllama"
        assert after["hits"] and after["passages"] > before["passages"]
        everything = 2 * TURNS
        if read_again:
            assert after["added"] == everything
        else:
            assert 0 < after["added"] < everything
        await page.close()
    assert "Traceback" not in own_server.log
