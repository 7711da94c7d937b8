"""Restoring a chat from a file, on a real server: hidden until it is complete, and bounded."""

from __future__ import annotations

import asyncio
import io
import json
import sqlite3
import time
import uuid
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import psutil
import pytest

from tests.person import Person
from tests.running import Server
from tests.web.browser_requests import Answer, ask_from_page

PROGRESS = "/conversations/import/progress"


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Server]:
    with Server(tmp_path, LIMITS_FACTOR="1") as server:
        yield server
        server.kill()


def saved(messages: int, *, text: str = "Line", **fields: Any) -> str:
    said = [{"role": "user", "content": f"{text} {number}"} for number in range(messages)]
    head = {"format": "chatsite.conversation", "version": 3, "agent": "demo", "title": "Log"}
    return json.dumps({**head, "messages": said, **fields})


async def restore(person: Person, file: str) -> Answer:
    path, kind = "/conversations/import", "application/json"
    body = io.BytesIO(file.encode())
    return await ask_from_page(person, "POST", path, data=body, type=kind)


async def refusal(person: Person, file: str) -> str:
    """Why the file is refused. On a busy machine that is known only after the answer."""
    answer = await restore(person, file)
    assert answer.status // 100 == 4 or answer.status == 202
    if answer.status != 202:
        return answer.text
    async with asyncio.timeout(60):
        while not (  # noqa: ASYNC110 - another process
            problem := (await person.ask("GET", PROGRESS))["import"]["problem"]
        ):
            await asyncio.sleep(0.1)
    return str(problem)


async def first_rows(person: Person) -> dict[str, Any]:
    """The progress, once the first messages are stored."""
    async with asyncio.timeout(60):
        while True:
            found: dict[str, Any] = (await person.ask("GET", PROGRESS))["import"]
            assert found["problem"] is None
            if found["done"]:
                return found
            await asyncio.sleep(0.05)


def stored(server: Server) -> list[int]:
    """Conversations and messages in the database, hidden ones among them."""
    tables = ("conversations_conversation", "conversations_message")
    with closing(sqlite3.connect(server.folder / "chatsite.sqlite3")) as database:
        return [database.execute(f"SELECT COUNT(*) FROM {one}").fetchone()[0] for one in tables]


def conversations(server: Server) -> list[uuid.UUID]:
    """The ids of those in the database, hidden ones among them."""
    with closing(sqlite3.connect(server.folder / "chatsite.sqlite3")) as database:
        rows = database.execute("SELECT id FROM conversations_conversation").fetchall()
        return [uuid.UUID(id) for (id,) in rows]


async def until_removed(server: Server) -> None:
    async with asyncio.timeout(60):
        while stored(server) != [0, 0]:  # noqa: ASYNC110 - another process
            await asyncio.sleep(0.1)


async def test_somebody_who_restores_two_at_once_is_told_so_and_one_is_kept(
    server: Server,
) -> None:
    async with Person(server.url) as ada:
        file = saved(5_000)
        answers = await asyncio.gather(*(restore(ada, file) for _ in range(2)))
        # 202: it goes on in the background.
        assert sorted(answer.status for answer in answers) in ([200, 429], [202, 429])
        async with asyncio.timeout(60):
            while not (await ada.ask("GET", PROGRESS))["import"]["conversation"]:  # noqa: ASYNC110 - another process
                await asyncio.sleep(0.1)
        listed = await ada.ask("GET", "/conversations")
        assert [one["title"] for one in listed["conversations"]] == ["Log"]


@pytest.mark.thorough
async def test_a_killed_server_shows_nothing_of_it_and_the_next_start_removes_the_rest(
    server: Server,
) -> None:
    async with Person(server.url) as ada:
        assert (await restore(ada, saved(60_000))).status == 202
        under_way = await first_rows(ada)
        assert under_way["done"] < under_way["count"] == 60_000
        assert (await ada.ask("GET", "/conversations"))["conversations"] == []
        assert (await ada.ask("GET", "/conversations/search?q=log"))["hits"] == []
        [hidden] = conversations(server)
        for path in ("messages?before=9", "export", "cache"):
            answer = await ask_from_page(ada, "GET", f"/conversations/{hidden}/{path}")
            assert answer.status == 404, path
        server.kill()
        assert stored(server)[1] > 0
        server.start()
        assert (await ada.ask("GET", "/conversations"))["conversations"] == []
        await until_removed(server)


async def test_a_check_that_is_killed_half_way_leaves_nothing(server: Server) -> None:
    async with Person(server.url) as ada:
        restoring = asyncio.create_task(restore(ada, saved(60_000)))
        await asyncio.to_thread(kill_check, server)
        assert (await restoring).status in (202, 400)
        async with asyncio.timeout(60):
            while not (found := (await ada.ask("GET", PROGRESS))["import"])["problem"]:
                assert found["conversation"] is None
                await asyncio.sleep(0.1)
        assert "too much time or memory" in found["problem"]["message"]
        await until_removed(server)


def kill_check(server: Server) -> None:
    """Kill the process that checks a file, as soon as there is one."""
    assert server.process is not None
    until = time.monotonic() + 60
    while time.monotonic() < until:
        for child in psutil.Process(server.process.pid).children(recursive=True):
            if "imports.reader" in " ".join(child.cmdline()):
                child.kill()
                return
        time.sleep(0.01)
    raise AssertionError("no file was checked")


@pytest.mark.thorough
async def test_three_people_at_once_are_one_too_many_and_are_told_so(server: Server) -> None:
    async with Person(server.url) as ada, Person(server.url) as bob, Person(server.url) as eve:
        file = saved(60_000)
        assert [(await restore(one, file)).status for one in (ada, bob)] == [202, 202]
        refused = await restore(eve, file)
        assert refused.status == 429
        assert "being restored" in refused.text, refused.text
        for one in (ada, bob):
            await ask_from_page(one, "DELETE", PROGRESS)
        await until_removed(server)


async def test_more_words_than_a_guest_may_store_are_refused_in_words(tmp_path: Path) -> None:
    with Server(tmp_path, LIMITS_FACTOR="1", WORDS_QUOTA_MILLION="1") as server:
        async with Person(server.url) as ada:
            page = "word " * 1_000
            assert "0.25 million characters" in await refusal(ada, saved(51, text=page))
            assert stored(server) == [0, 0]
            assert (await restore(ada, saved(49, text=page))).status in (200, 202)


@pytest.mark.parametrize("forget_above", [10**400, -1, "all"])
async def test_a_number_out_of_bounds_is_refused_in_words(
    server: Server, forget_above: Any
) -> None:
    async with Person(server.url) as ada:
        refused = await refusal(ada, saved(2, forget_above=forget_above))
        assert "Nothing was imported" in refused
