"""What was said in a temporary chat, or deleted for good, is in no byte that this server has."""

from __future__ import annotations

import asyncio
import json
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest

from tests.fakes.openai_server import FakeOpenAI
from tests.mail.test_mail_account import WHOLE
from tests.person import Page, Person
from tests.running import Server
from tests.story.conftest import provider_environment
from tests.talk.test_rooms_file import document
from tests.temporary.planted import Planted, found, talk, until_gone

SQLITE = pytest.mark.sqlite


@pytest.fixture(scope="module")
def server(fake: FakeOpenAI, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """It logs as much as it can."""
    folder = tmp_path_factory.mktemp("no-trace")
    environment = provider_environment(fake, DEBUG="true", TMPDIR=str(temp(folder)))
    with Server(folder / "var", **environment) as running:
        yield running
    assert "Traceback" not in running.log, running.log


def temp(folder: Path) -> Path:
    (made := folder / "temp").mkdir(exist_ok=True)
    return made


def folders(server: Server) -> tuple[Path, Path]:
    return server.folder, temp(server.folder.parent)


async def require_planted(planted: Planted, server: Server) -> None:
    """All words are there, so that a search that finds none says something."""
    words = planted.stored.values()
    there = await asyncio.to_thread(found, words, *folders(server))
    missing = [place for place, one in planted.stored.items() if one not in there]
    assert not missing and len(planted.stored) + len(planted.never) >= 50, missing


async def listed(ada: Person) -> list[str]:
    found = await ada.ask("GET", "/conversations")
    return [one["id"] for one in found["conversations"]]


@SQLITE
async def test_a_closed_temporary_chat_leaves_no_byte(server: Server, fake: FakeOpenAI) -> None:
    async with Person(server.url) as ada:
        ordinary = await ada.page()
        await ordinary.say("This one stays")
        planted = Planted()
        page = await talk(ada, fake, planted, temporary=True)
        await require_planted(planted, server)
        await ada.ask("POST", f"/conversations/{page.conversation}/close")
        assert (await page.until("deleted"))["type"] == "deleted"
        await until_gone(planted, *folders(server))
        assert await listed(ada) == [ordinary.conversation]
        assert (await ada.page(page.conversation)).snapshot["conversation"] is None


@SQLITE
async def test_what_is_deleted_and_purged_leaves_no_byte_either(
    server: Server, fake: FakeOpenAI
) -> None:
    async with Person(server.url) as ada:
        planted = Planted()
        page = await talk(ada, fake, planted)
        await require_planted(planted, server)
        assert page.conversation in await listed(ada)
        await ada.ask("DELETE", f"/conversations/{page.conversation}")
        await asyncio.to_thread(make_old, server)
        await asyncio.to_thread(server.manage, "purge")
        await until_gone(planted, *folders(server))


def make_old(server: Server) -> None:
    """What was deleted, and what was never sent."""
    with closing(sqlite3.connect(server.folder / "chatsite.sqlite3", timeout=20)) as database:
        for table, column, where in (
            ("conversation", "deleted", "deleted IS NOT NULL"),
            ("message", "deleted", "deleted IS NOT NULL"),
            ("upload", "created", "conversation_id IS NULL"),
        ):
            database.execute(
                f"UPDATE conversations_{table} SET {column} = '2020-01-01 00:00:00' WHERE {where}"
            )
        database.commit()


@SQLITE
@pytest.mark.thorough
async def test_it_survives_a_reload_and_is_erased_when_nobody_comes_back(
    server: Server, fake: FakeOpenAI
) -> None:
    async with Person(server.url) as ada:
        planted = Planted()
        page = await ada.page()
        await page.say(f"Note {planted.put('question')}", temporary=True)
        await page.close()
        await asyncio.sleep(10)  # a reload takes less
        page = await ada.page(page.conversation)
        assert page.snapshot["conversation"]["temporary"]
        await asyncio.sleep(40)  # more than the grace
        assert await still_there(ada, page)
    await until_gone(planted, *folders(server), patience=60)  # their sockets are closed


@SQLITE
@pytest.mark.parametrize("ends", ["stop", "kill"])
async def test_a_server_that_ends_or_was_killed_leaves_no_temporary_chat(
    ends: str, fake: FakeOpenAI, tmp_path: Path
) -> None:
    server = Server(tmp_path / "var", **provider_environment(fake, TMPDIR=str(temp(tmp_path))))
    await asyncio.to_thread(server.start)
    planted = Planted()
    async with Person(server.url) as ada:
        await talk(ada, fake, planted, exchanges=2, temporary=True)
    await asyncio.to_thread(getattr(server, ends))
    if ends == "kill":
        assert await asyncio.to_thread(found, planted.stored.values(), *folders(server))
        await asyncio.to_thread(server.start)
        await until_gone(planted, *folders(server))
        await asyncio.to_thread(server.stop)
    await until_gone(planted, *folders(server))


async def test_a_temporary_chat_is_in_no_list_and_nothing_older_is_found_of_it(
    server: Server, fake: FakeOpenAI
) -> None:
    async with Person(server.url) as ada:
        page = await ada.page()
        await page.say("Otters swim at night", temporary=True)
        id = (await ada.page(page.conversation)).snapshot["messages"][-1]["id"]
        await ada.ask("PATCH", f"/messages/{id}", {"bookmarked": True})
        assert await listed(ada) == []
        for path in ("search?q=otters", "bookmarks"):
            assert (await ada.ask("GET", f"/conversations/{path}"))["hits"] == []
        copy = {"conversation": str(uuid4())}
        refused = await ada.ask("POST", f"/messages/{id}/copy", copy, expect=409)
        assert "Keep it before" in refused["message"]
        kept = await ada.ask("POST", f"/conversations/{page.conversation}/keep")
        assert kept["conversation"]["temporary"] is False
        assert (await page.until("kept"))["type"] == "kept"
        assert await listed(ada) == [page.conversation]
        for path in ("search?q=otters", "bookmarks"):
            assert (await ada.ask("GET", f"/conversations/{path}"))["hits"]


async def test_nobody_else_can_close_or_keep_it(server: Server, fake: FakeOpenAI) -> None:
    async with Person(server.url) as ada, Person(server.url) as eve:
        page = await ada.page()
        await page.say("Mine alone", temporary=True)
        path = f"/conversations/{page.conversation}"
        for act in ("close", "keep"):
            await eve.ask("POST", f"{path}/{act}", expect=404)
        assert await still_there(ada, page)
        await ada.ask("POST", f"{path}/keep")
        await ada.ask("POST", f"{path}/close", expect=409)
        assert await listed(ada) == [page.conversation]


async def still_there(ada: Person, page: Page) -> bool:
    shown = (await ada.page(page.conversation)).snapshot["conversation"]
    return bool(shown and shown["temporary"])


@SQLITE
async def test_signing_out_closes_it_and_an_answer_that_is_written_is_stopped(
    fake: FakeOpenAI, tmp_path: Path
) -> None:
    environment = provider_environment(fake, TMPDIR=str(temp(tmp_path)))
    with Server(tmp_path / "var", **environment) as server:
        server.add_user("ada", "long-enough-1815")
        async with Person(server.url) as ada:
            await ada.sign_in("ada", "long-enough-1815")
            planted = Planted()
            page = await ada.page()
            text = f"{planted.put('question')} [[mode=slow;tokens=300]]"
            await page.send(text, temporary=True)
            await page.until("delta")
            await require_some(planted, server)
            await ada.sign_out()
            await until_gone(planted, *folders(server))


async def require_some(planted: Planted, server: Server) -> None:
    assert await asyncio.to_thread(found, planted.stored.values(), *folders(server))


async def test_the_administrator_can_have_all_chats_be_temporary(
    fake: FakeOpenAI, tmp_path: Path
) -> None:
    environment = provider_environment(fake, TEMPORARY_CHATS="always")
    with Server(tmp_path / "var", **environment) as server:
        async with Person(server.url) as ada:
            page = await ada.page()
            await page.say("Hello")
            assert await still_there(ada, page)
            path = f"/conversations/{page.conversation}/keep"
            refused = await ada.ask("POST", path, expect=409)
            assert refused["message"] == "The administrator has all chats here be temporary."
            refused = await ada.ask("POST", "/conversations/import", {"any": "file"}, expect=409)
            assert "none can be imported" in refused["message"]


async def test_a_chat_from_before_they_all_were_temporary_stays_and_gets_no_copy(
    fake: FakeOpenAI, tmp_path: Path
) -> None:
    server = Server(tmp_path / "var", **provider_environment(fake))
    with server:
        async with Person(server.url) as ada:
            page = await ada.page()
            await page.say("Hello")
            message = (await ada.page(page.conversation)).snapshot["messages"][-1]["id"]
            await page.close()
            await asyncio.to_thread(server.stop)
            server.environment = {**server.environment, "TEMPORARY_CHATS": "always"}
            await asyncio.to_thread(server.start)
            copy = {"conversation": str(uuid4())}
            refused = await ada.ask("POST", f"/messages/{message}/copy", copy, expect=409)
            assert "Nothing was stored." in refused["message"]
            assert await listed(ada) == [page.conversation]


@pytest.mark.parametrize("variable", ["MAIL_ADDRESS", "TALK_FILE"])
def test_what_must_keep_conversations_does_not_start_where_none_may_be_kept(
    variable: str, tmp_path: Path
) -> None:
    rooms = tmp_path / "rooms.json"
    rooms.write_text(json.dumps(document()))
    mail = {f"MAIL_{name.upper()}": value for name, value in WHOLE.items()}
    needs = {"TALK_FILE": {"TALK_FILE": str(rooms)}, "MAIL_ADDRESS": mail}[variable]
    more = {"SITE_URL": "https://chat.example", "TEMPORARY_CHATS": "always"}
    environment: Any = {**needs, **more, "TALK_PASSWORD": "long enough"}
    server = Server(tmp_path / "var", **environment)
    with pytest.raises(AssertionError):
        server.start()
    assert f"{variable} and TEMPORARY_CHATS='always' exclude each other" in server.log


async def test_where_they_are_off_nothing_that_was_meant_to_be_temporary_is_stored(
    fake: FakeOpenAI, tmp_path: Path
) -> None:
    with Server(tmp_path / "var", **provider_environment(fake, TEMPORARY_CHATS="off")) as server:
        async with Person(server.url) as ada:
            page = await ada.page()
            await page.send("Hello", temporary=True)
            while (event := await page.event())["type"] != "refused":
                pass
            assert "aren't allowed here" in event["message"]
            assert await listed(ada) == []
