"""With the real model: its cache follows the branch that is shown, whatever was changed before."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.person import PATIENCE, Page, Person
from tests.running import Server
from tests.story.agents import brief_demo
from tests.story.test_branches import again, edit, id_of, shown
from tests.web.browser_requests import ask_from_page

pytestmark = pytest.mark.engine

BOATS = (
    "The red boat lies at the long quay and belongs to the keeper of the lamp.",
    "The blue boat lies beside the crane, and nobody has seen its owner since the spring.",
    "The green boat sails on Monday with ropes and papers for the office on the other side.",
)


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Server]:
    agents = str(brief_demo(tmp_path / "agents", tokens=6))
    with Server(
        tmp_path / "var", CHAT_ENGINE="auto", HISTORY_POLICY="all", AGENTS_DIR=agents
    ) as server:
        yield server


class Talk:
    """One conversation; after every answer its books are compared with what the engine did."""

    def __init__(self, ada: Person, page: Page) -> None:
        self.ada, self.page = ada, page

    async def say(self, text: str) -> dict[str, Any]:
        return await self.check(await self.page.say(text))

    async def check(self, ended: dict[str, Any]) -> dict[str, Any]:
        """The engine reused what the books predicted; the cells are those of what is shown."""
        assert ended["state"] == "complete", ended
        cache: dict[str, Any] = ended["receipt"]["cache"]
        assert cache["reused"] == cache["expected"]
        path = [one["seq"] for one in await shown(self.page)]
        view = await self.view()
        async with asyncio.timeout(PATIENCE):
            # The books are written after the end of the turn.
            while [one["seq"] for one in view["strip"] if one["kind"] == "message"] != path:
                await asyncio.sleep(0.05)
                view = await self.view()
        assert (view["place"], view["misses"]) == ("slot", 0)
        end = 0
        for one in view["strip"]:
            assert one["start"] == end, view["strip"]
            end += one["size"]
        assert end == view["used"]
        return cache

    async def show(self, message: str) -> None:
        await ask_from_page(self.ada, "POST", f"/messages/{message}/show")
        await self.page.until("path_changed")

    async def cells_above(self, message: str) -> int:
        """Where the message's cells begin."""
        [found] = [one for one in (await self.view())["strip"] if one["key"] == message]
        return int(found["start"])

    async def view(self) -> dict[str, Any]:
        path = f"/conversations/{self.page.conversation}/cache"
        found: dict[str, Any] = await self.ada.ask("GET", path)
        return found


async def test_the_cells_are_those_of_the_branch_that_is_shown(server: Server) -> None:
    async with Person(server.url) as ada:
        talk = Talk(ada, page := await ada.ready_page())
        for boat in BOATS:
            await talk.say(boat)
        asked, last = await id_of(page, BOATS[1]), await id_of(page, BOATS[2])
        common, above_last = await talk.cells_above(asked), await talk.cells_above(last)

        edited = await talk.check(await edit(page, asked, "Is there a yellow boat, too?"))
        assert common <= edited["reused"] < above_last, "all above the new branch, and little more"
        await talk.show(asked)
        back = await talk.say("Which boat is green? One word.")
        assert common <= back["reused"] < above_last

        answer = (await shown(page))[3]
        tried = await talk.check(await again(page, answer["id"]))
        assert (tried["origin"], tried["evaluated"]) == ("slot", 1), "its question is read already"
        assert (await talk.say("Which boat is blue? One word."))["reused"] >= tried["cells"]
        await talk.show(answer["id"])
        assert (await talk.say("And which one is red?"))["reused"] >= tried["reused"]

        await ada.ask("DELETE", f"/messages/{asked}")
        deleted = await talk.say("Which boats are there?")
        assert deleted["origin"] == "none", "the slot held the words that were deleted"
        assert (await talk.say("Thanks."))["reused"] >= deleted["cells"]
        await ada.ask("POST", f"/messages/{asked}/restore")
        await talk.say("And now?")


async def test_an_imported_chat_says_that_it_is_read_anew(server: Server) -> None:
    async with Person(server.url) as ada:
        page = await ada.page()
        talk = Talk(ada, page)
        await talk.say(BOATS[0])
        file = await ada.ask("GET", f"/conversations/{page.conversation}/export")
        imported = await ada.ask("POST", "/conversations/import", file)
        assert imported["note"] == (
            "The model on this machine reads this chat anew for its next answer."
        )
        again = Talk(ada, await ada.page(imported["conversation"]["id"]))
        anew, goes_on = await again.say(BOATS[1]), await talk.say(BOATS[1])
        assert anew["reused"] < goes_on["reused"]
