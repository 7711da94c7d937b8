"""After a restart everybody's pages come back at the same moment."""

from __future__ import annotations

import asyncio
import random
from contextlib import AsyncExitStack
from pathlib import Path

import pytest

from tests.person import Page, Person
from tests.running import Server

pytestmark = pytest.mark.thorough

PEOPLE, SOCKETS = 25, 20
SECONDS = 2.0


async def test_500_sockets_reconnect_within_two_seconds_and_find_their_chats(
    tmp_path: Path,
) -> None:
    server = Server(tmp_path / "var")
    chance = random.Random(53)
    async with AsyncExitStack() as stack:
        with server:
            people = [await stack.enter_async_context(Person(server.url)) for _ in range(PEOPLE)]
            pages = [[await ada.page() for _ in range(SOCKETS)] for ada in people]
            said = [await own[0].say(f"I am number {n}.") for n, own in enumerate(pages)]
            server.kill()
            for page in (page for own in pages for page in own):
                await page.close()
            server.start()

            async def come_back(ada: Person, conversation: str) -> Page:
                await asyncio.sleep(chance.uniform(0, SECONDS))
                return await ada.page(conversation)

            back = await asyncio.gather(
                *(
                    come_back(ada, page.conversation)
                    for ada, own in zip(people, pages, strict=True)
                    for page in own
                )
            )
            for number, ended in enumerate(said):
                first, *others = back[number * SOCKETS : (number + 1) * SOCKETS]
                assert first.snapshot["messages"][-1] == ended["message"]
                assert all(page.snapshot["messages"] == [] for page in others)
            ended = await back[-1].say("Is everybody here?")
            assert ended["state"] == "complete"
    assert "Traceback" not in server.log
