"""A person finds what was said, at once and nobody else's."""

from __future__ import annotations

from tests.person import Person
from tests.running import Server


async def search(person: Person, text: str) -> list[tuple[str, str]]:
    """The role of each hit, "" for a title, and its text."""
    found = await person.ask("GET", f"/conversations/search?q={text}")
    return [(hit["role"], "".join(text for text, _ in hit["parts"])) for hit in found["hits"]]


async def test_what_was_said_this_moment_is_found_by_its_author_alone(server: Server) -> None:
    async with Person(server.url) as ada, Person(server.url) as bob:
        page = await ada.page()
        await page.say("The albatross sleeps while it flies.")
        text = "The albatross sleeps while it flies."
        assert await search(ada, "albatross") == [("", text), ("user", text)]
        assert await search(bob, "albatross") == []


async def test_a_guests_words_are_found_in_the_account_that_they_sign_in_to(
    server: Server,
) -> None:
    async with Person(server.url) as ada:
        page = await ada.page()
        await page.say("The kittiwake nests on the cliff.")
        assert await search(ada, "kittiwake")
        server.add_user("ada-kittiwake", "petrel-1952")
        await ada.sign_in("ada-kittiwake", "petrel-1952")
        assert await search(ada, "kittiwake")
    async with Person(server.url) as nobody:
        assert await search(nobody, "kittiwake") == []


async def test_deleted_words_are_found_no_more_and_undone_ones_again(server: Server) -> None:
    async with Person(server.url) as ada:
        page = await ada.page()
        await page.say("The guillemot dives.")
        await ada.ask("DELETE", f"/conversations/{page.conversation}")
        assert await search(ada, "guillemot") == []
        await ada.ask("POST", f"/conversations/{page.conversation}/restore")
        assert await search(ada, "guillemot")
