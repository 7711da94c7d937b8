"""Importing the chats of other programs, on a real server: all of them or none, and once."""

from __future__ import annotations

import asyncio
import io
import json
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from tests.conversations.imports.exports import many, tides, tides_zip, zipped
from tests.person import Person
from tests.running import Server
from tests.story.test_importing import PROGRESS, stored, until_removed
from tests.story.test_own_account import sign_up
from tests.web.browser_requests import Answer, ask, ask_from_page


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Server]:
    with Server(tmp_path, LIMITS_FACTOR="1") as server:
        yield server
        server.kill()


async def bring(person: Person, file: bytes, agent: str = "demo") -> Answer:
    path = f"/conversations/import?agent={agent}"
    body = io.BytesIO(file)
    return await ask_from_page(person, "POST", path, data=body, type="application/octet-stream")


async def outcome(person: Person) -> dict[str, Any]:
    """What the page is told in the end."""
    async with asyncio.timeout(120):
        while True:
            found: dict[str, Any] = (await person.ask("GET", PROGRESS))["import"]
            if found["problem"] or "report" in found:
                return found
            await asyncio.sleep(0.05)


async def report_of(person: Person, file: bytes) -> dict[str, Any]:
    answer = await bring(person, file)
    assert answer.status in (200, 202), answer.text
    found = await outcome(person)
    assert found["problem"] is None
    report: dict[str, Any] = found["report"]
    return report


async def titles(person: Person) -> list[str]:
    found = await person.ask("GET", "/conversations")
    return [one["title"] for one in found["conversations"]]


async def messages(person: Person, conversation: str) -> list[dict[str, Any]]:
    path = f"/conversations/{conversation}/messages?before=1000000"
    found: list[dict[str, Any]] = (await person.ask("GET", path))["messages"]
    return found


async def test_a_chat_comes_with_its_versions_times_model_and_picture(server: Server) -> None:
    async with Person(server.url) as ada:
        report = await report_of(ada, tides_zip())
        assert (report["program"], report["chats"]) == ("ChatGPT", 1)
        assert (report["messages"], report["files"]) == (5, 1)
        assert [(one["kind"], one["count"], one["titles"]) for one in report["left_out"]] == [
            ("system", 1, ["Tides"]),
            ("unknown", 1, ["user.json"]),
        ]
        [listed] = (await ada.ask("GET", "/conversations"))["conversations"]
        assert listed["title"] == "Tides"
        assert listed["updated"].startswith("2023-11-14T22:28:20")
        asked, answer, _, last = await messages(ada, listed["id"])
        assert asked["created"].startswith("2023-11-14T22:13:21")
        assert len(answer["versions"]) == 2
        assert answer["content"] == "At noon, twice."
        assert last["model"] == "gpt-4o"
        [picture] = asked["attachments"]
        assert (picture["name"], picture["modality"], picture["width"]) == ("map.png", "image", 40)
        assert (await ask(ada, "GET", f"/files/{picture['id']}")).status == 200
        line = report["line"]
        assert (line["id"], line["title"]) == (listed["id"], "Tides")
        assert line["stored"] == 4
        assert 0 < line["sent"] <= 4


async def test_the_same_file_makes_no_doubles_but_a_deleted_chat_comes_back(
    server: Server,
) -> None:
    async with Person(server.url) as ada, Person(server.url) as bob:
        file = json.dumps([tides("one", "One"), tides("two", "Two"), tides("two", "Two")]).encode()
        assert (await report_of(ada, file))["chats"] == 2
        again = await report_of(ada, file)
        assert again["chats"] == 0
        assert [one["count"] for one in again["left_out"] if one["kind"] == "here"] == [3]
        [first, _] = (await ada.ask("GET", "/conversations"))["conversations"]
        await ask_from_page(ada, "DELETE", f"/conversations/{first['id']}")
        assert (await report_of(ada, file))["chats"] == 1
        assert sorted(await titles(ada)) == ["One", "Two"]
        # Somebody else has chats of their own from the same file.
        assert (await report_of(bob, file))["chats"] == 2
        assert (await ask(bob, "GET", f"/conversations/{first['id']}/export")).status == 404


async def test_what_a_guest_brought_is_there_for_the_account_too(tmp_path: Path) -> None:
    file = json.dumps([tides("one", "One"), tides("two", "Two")]).encode()
    with Server(tmp_path, LIMITS_FACTOR="1", SIGNUP="true") as server:
        async with Person(server.url) as ada, Person(server.url) as bob:
            assert (await report_of(ada, file))["chats"] == 2
            await sign_up(ada)
            again = await report_of(ada, file)
            assert again["chats"] == 0
            assert [one["count"] for one in again["left_out"] if one["kind"] == "here"] == [2]
            # Somebody else's doubles are known as well, while the first ones are there and later.
            assert [(await report_of(bob, file))["chats"] for _ in range(2)] == [2, 0]
            for one in (await ada.ask("GET", "/conversations"))["conversations"]:
                await ask_from_page(ada, "DELETE", f"/conversations/{one['id']}")
            await sign_up(bob)
            assert sorted(await titles(bob)) == ["One", "Two"]
            assert (await report_of(ada, file))["chats"] == 2
            assert (await report_of(ada, file))["chats"] == 0
        server.kill()


async def test_the_report_stays_until_it_is_closed_and_is_nobody_elses(server: Server) -> None:
    async with Person(server.url) as ada, Person(server.url) as bob:
        await report_of(ada, tides_zip())
        assert (await ada.ask("GET", PROGRESS))["import"]["report"]["chats"] == 1
        assert (await bob.ask("GET", PROGRESS))["import"] is None
        await ask_from_page(ada, "DELETE", PROGRESS)
        assert (await ada.ask("GET", PROGRESS))["import"] is None
        assert await titles(ada) == ["Tides"]


@pytest.mark.parametrize(
    ("file", "words"),
    [
        (b'{"hello": "world"}', "holds no chats of ChatGPT, Claude"),
        (json.dumps([tides()]).encode()[:-9], "nor whole JSON"),
        (b"PK\3\4 and nothing", "ZIP file is damaged"),
        (zipped({"photo.png": b"\x89PNG"}), "holds no chats"),
    ],
)
async def test_what_is_wrong_with_a_file_is_said_and_nothing_stays(
    server: Server, file: bytes, words: str
) -> None:
    async with Person(server.url) as ada:
        answer = await bring(ada, file)
        told = answer.text if answer.status == 400 else str((await outcome(ada))["problem"])
        assert words in told
        assert "Nothing was imported." in told
        assert stored(server) == [0, 0]
        assert (await bring(ada, tides_zip(), agent="nobody")).status == 404


@pytest.mark.thorough
async def test_nothing_is_shown_before_the_end_and_giving_up_leaves_nothing(
    server: Server,
) -> None:
    async with Person(server.url) as ada:
        assert (await bring(ada, many(400, 60))).status == 202
        under_way = await progress(ada)
        assert under_way["count"] == 24_000
        assert under_way["chats"] == 400
        assert await titles(ada) == []
        await ask_from_page(ada, "DELETE", PROGRESS)
        assert (await ada.ask("GET", PROGRESS))["import"] is None
        await until_removed(server)


@pytest.mark.thorough
async def test_a_server_that_is_killed_in_the_middle_shows_nothing_of_it(server: Server) -> None:
    async with Person(server.url) as ada:
        file = many(400, 60)
        assert (await bring(ada, file)).status == 202
        await progress(ada)
        server.kill()
        assert stored(server)[1] > 0
        server.start()
        assert await titles(ada) == []
        await until_removed(server)
        assert (await report_of(ada, many(3, 4)))["chats"] == 3


async def test_who_is_signed_in_may_send_more_than_a_guest(tmp_path: Path) -> None:
    file = b"[" + json.dumps(tides()).encode() + b" " * 21 * 1024 * 1024 + b"]"
    with Server(tmp_path, LIMITS_FACTOR="1", SIGNUP="true") as server:
        async with Person(server.url) as ada:
            answer = await bring(ada, file)
            assert answer.status == 413
            assert "Guests may send 20 MB here" in answer.text
            await sign_up(ada)
            assert (await report_of(ada, file))["chats"] == 1


async def progress(person: Person) -> dict[str, Any]:
    """The progress, once the first chats are stored."""
    async with asyncio.timeout(60):
        while True:
            found: dict[str, Any] = (await person.ask("GET", PROGRESS))["import"]
            assert found["problem"] is None
            if found.get("chats_done", 0) > 20:
                return found
            await asyncio.sleep(0.02)


async def test_chats_beyond_the_quota_are_left_out_whole_and_named(tmp_path: Path) -> None:
    with Server(tmp_path, LIMITS_FACTOR="1", WORDS_QUOTA_MILLION="1") as server:
        async with Person(server.url) as ada:
            report = await report_of(ada, many(20, 100))
            assert 0 < report["chats"] < 20
            left = {one["kind"]: one["count"] for one in report["left_out"]}
            assert left["words_full"] == 20 - report["chats"]
            with closing(sqlite3.connect(server.folder / "chatsite.sqlite3")) as database:
                [counts] = zip(
                    *database.execute(
                        "SELECT DISTINCT path_messages FROM conversations_conversation"
                    ).fetchall(),
                    strict=True,
                )
            assert counts == (100,)
