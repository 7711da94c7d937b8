"""Changing where conversations stand over HTTP: several at once, the way back, and refusals."""

from __future__ import annotations

from typing import Any
from uuid import uuid4

import pytest

from tests.person import Person
from tests.running import Server

CHANGES = "/conversations/changes"


async def begun(person: Person, *titles: str) -> list[str]:
    """The ids of new conversations."""
    ids = []
    for title in titles:
        page = await person.page()
        await page.say(title)
        ids.append(page.conversation)
    return ids


async def sidebar(person: Person) -> dict[str, Any]:
    return await person.ask("GET", "/conversations?in=list")


def titles(found: list[dict[str, Any]]) -> list[str]:
    return [one["title"] for one in found]


async def test_several_are_changed_with_one_request_and_put_back_with_another(
    server: Server,
) -> None:
    async with Person(server.url) as ada:
        ids = await begun(ada, "One", "Two", "Three", "Four")
        before = await sidebar(ada)
        assert titles(before["conversations"]) == ["Four", "Three", "Two", "One"]
        undos = []
        for which, change in (
            (ids[:1], {"pinned": True}),
            (ids[1:3], {"folder": "  My   taxes "}),
            (ids[3:], {"archived": True}),
        ):
            undos.append(await ada.ask("POST", CHANGES, {"ids": which, "set": change}))
        now = await sidebar(ada)
        assert (titles(now["pinned"]), now["conversations"]) == (["One"], [])
        assert (now["folders"], now["archived"]) == ([["My taxes", 2]], 1)
        inside = await ada.ask("GET", "/conversations?folder=My%20taxes")
        assert titles(inside["conversations"]) == ["Three", "Two"]
        archive = await ada.ask("GET", "/conversations?in=archive")
        assert titles(archive["conversations"]) == ["Four"]
        undos.append(await ada.ask("POST", CHANGES, {"folder": "My taxes", "name": None}))
        undos.append(await ada.ask("POST", CHANGES, {"ids": ids, "set": {"deleted": True}}))
        assert (await ada.ask("GET", "/conversations"))["count"] == 0
        for undo in reversed(undos):
            await ada.ask("POST", CHANGES, {"back": undo["former"]})
        assert await sidebar(ada) == before


async def test_a_message_in_an_archived_conversation_leaves_it_there(server: Server) -> None:
    async with Person(server.url) as ada:
        page = await ada.page()
        await page.say("One")
        change = {"ids": [page.conversation], "set": {"archived": True}}
        await ada.ask("POST", CHANGES, change)
        await page.say("Two")
        assert (await sidebar(ada))["conversations"] == []
        assert (await ada.ask("GET", "/conversations?in=archive"))["count"] == 1


async def test_other_pages_hear_of_a_deleted_one_and_its_answer_is_stopped(server: Server) -> None:
    async with Person(server.url) as ada:
        page = await ada.page()
        await page.send("Count. [[tokens=500;rate=20]]")
        await page.until("delta")
        change = {"ids": [page.conversation], "set": {"deleted": True}}
        await ada.ask("POST", CHANGES, change)
        await page.until("deleted")


async def test_what_isnt_ones_own_reads_as_not_found_and_nothing_is_changed(server: Server) -> None:
    async with Person(server.url) as ada, Person(server.url) as bob:
        (mine,), (theirs,) = await begun(ada, "Mine"), await begun(bob, "Theirs")
        before = await sidebar(ada), await sidebar(bob)
        place = {"pinned": None, "archived": None, "folder": "x"}
        answers = []
        for other in (theirs, str(uuid4())):
            for change in ({"pinned": True}, {"folder": "x"}, {"deleted": True}):
                body = {"ids": [mine, other], "set": change}
                answers.append(await ada.ask("POST", CHANGES, body, expect=404))
            back = {"back": [{"id": other, **place}, {"id": mine, **place}]}
            answers.append(await ada.ask("POST", CHANGES, back, expect=404))
        assert len({one["message"] for one in answers}) == 1
        assert (await sidebar(ada), await sidebar(bob)) == before


SOME = [str(uuid4())]


@pytest.mark.parametrize(
    ("body", "words"),
    [
        ({"ids": [str(uuid4()) for _ in range(501)], "set": {"pinned": True}}, "1 to 500"),
        ({"ids": [], "set": {"pinned": True}}, "1 to 500"),
        ({"ids": SOME * 2, "set": {"pinned": True}}, "1 to 500"),
        ({"ids": "all", "set": {"pinned": True}}, "1 to 500"),
        ({"ids": [7], "set": {"pinned": True}}, "1 to 500"),
        ({"ids": SOME}, "one field"),
        ({"ids": SOME, "set": {"pinned": True, "archived": True}}, "one field"),
        ({"ids": SOME, "set": {"title": "x"}}, "true or false"),
        ({"ids": SOME, "set": {"pinned": 1}}, "true or false"),
        ({"ids": SOME, "set": {"deleted": False}}, "true or false"),
        ({"ids": SOME, "set": {"folder": " "}}, "1 to 60"),
        ({"ids": SOME, "set": {"folder": "x" * 61}}, "1 to 60"),
        ({"ids": SOME, "set": {"folder": 7}}, "1 to 60"),
        ({"ids": SOME, "set": {"folder": "a\0b"}}, "can't be stored"),
        ({"folder": "", "name": "x"}, "1 to 60"),
        ({"folder": "x", "name": "\ud800"}, "can't be stored"),
        ({"back": [{"id": SOME[0]}]}, "former"),
        ({"back": ["x"]}, "former"),
        (
            {"back": [{"id": SOME[0], "pinned": "now", "archived": None, "folder": None}]},
            "former",
        ),
    ],
)
async def test_a_wrong_request_is_refused_with_the_reason(
    body: dict[str, Any], words: str, server: Server
) -> None:
    async with Person(server.url) as ada:
        assert words in (await ada.ask("POST", CHANGES, body, expect=400))["message"]


async def test_an_unknown_shelf_is_named(server: Server) -> None:
    async with Person(server.url) as ada:
        answer = await ada.ask("GET", "/conversations?in=attic", expect=400)
        assert "archive" in answer["message"]


async def test_a_saved_chat_comes_back_to_where_it_stood(server: Server) -> None:
    async with Person(server.url) as ada:
        (id,) = await begun(ada, "One")
        plain = await ada.ask("GET", f"/conversations/{id}/export")
        assert {"pinned", "archived", "folder"} & set(plain) == set(), "as older versions read it"
        await ada.ask("POST", CHANGES, {"ids": [id], "set": {"folder": "Taxes"}})
        await ada.ask("POST", CHANGES, {"ids": [id], "set": {"pinned": True}})
        saved = await ada.ask("GET", f"/conversations/{id}/export")
        async with Person(server.url) as bob:
            for file, expected in ((plain, ([], [])), (saved, (["One (2)"], [["Taxes", 0]]))):
                await bob.ask("POST", "/conversations/import", file)
                found = await sidebar(bob)
                assert (titles(found["pinned"]), found["folders"]) == expected
