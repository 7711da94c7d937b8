"""The chat that shows memory at work: one for each person, as long as they have it."""

from __future__ import annotations

from tests.person import Person
from tests.running import Server
from tests.web.browser_requests import ask_from_page


async def test_the_sample_that_is_there_is_opened_again(server: Server) -> None:
    async def sample(person: Person) -> str:
        found = await person.ask("POST", "/conversations/sample", {"agent": "demo"})
        assert found["question"]
        return str(found["conversation"]["id"])

    async with Person(server.url) as ada, Person(server.url) as bob:
        first = await sample(ada)
        assert await sample(ada) == first
        assert await sample(bob) != first
        assert (await ada.ask("GET", "/conversations"))["count"] == 1
        await ask_from_page(ada, "DELETE", f"/conversations/{first}")
        assert await sample(ada) != first
