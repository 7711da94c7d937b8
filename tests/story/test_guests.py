"""Guests: a session is stored when it is needed, and what they leave behind ends."""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import AsyncIterator, Iterator
from contextlib import closing
from datetime import UTC, datetime, timedelta
from typing import Any

import aiohttp
import pytest

from tests.attacks.kit import conversation_file
from tests.person import Person, kind_of
from tests.running import Server
from tests.web.browser_requests import attach_file, submit

PATHS = (
    *("/", "/chat", "/chat?agent=demo", "/conversations", "/conversations?q=x", "/models"),
    *("/healthz", "/readyz", "/accounts/", "/accounts/login/", "/accounts/signup/", "/nowhere"),
    *("/chat/00000000-0000-4000-8000-000000000000", "/accounts/export/", "/admin/login/"),
    "/conversations/00000000-0000-4000-8000-000000000000/messages?before=5",
    "/files/00000000-0000-4000-8000-000000000000",
)


@pytest.fixture
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    with Server(tmp_path_factory.mktemp("guests"), GUEST_DAYS="30", SIGNUP="true") as running:
        yield running
        running.kill()


def count(server: Server, table: str) -> int:
    with closing(sqlite3.connect(server.folder / "chatsite.sqlite3")) as database:
        return int(database.execute(f"SELECT COUNT(*) FROM {table}").fetchone()[0])


def rewind(server: Server, days: int) -> None:
    """Every visit so far was as many days earlier."""
    then = datetime.now(UTC) - timedelta(days=days)
    with closing(sqlite3.connect(server.folder / "chatsite.sqlite3")) as database:
        database.execute("UPDATE conversations_guest SET seen = ?", (f"{then:%Y-%m-%d %H:%M:%S}",))
        database.commit()


async def test_visits_that_lead_to_nothing_store_nothing(server: Server) -> None:
    async with aiohttp.ClientSession(cookie_jar=aiohttp.DummyCookieJar()) as http:
        for path in PATHS:
            for method in ("GET", "HEAD"):
                async with http.request(method, server.url + path) as answer:
                    assert answer.status < 500, path
                    assert all(kind_of(name) != "session" for name in answer.cookies), path
    assert count(server, "django_session") == 0


async def test_a_first_visit_with_a_message_stores_one_session(server: Server) -> None:
    async with Person(server.url) as ada:
        page = await ada.page()
        await page.say("Hello")
        assert (await ada.page_data())["has_session"] is True
    assert count(server, "django_session") == 1 == count(server, "conversations_guest")


async def test_what_an_expired_guest_left_is_removed_with_the_files(server: Server) -> None:
    async with Person(server.url) as ada, Person(server.url) as bob:
        await write_with_a_file(ada)
        rewind(server, 31)
        bobs = await write_with_a_file(bob)
        await bob.page_data()
        # A new visit of bob's; ada's last one stays where it is.
        with closing(sqlite3.connect(server.folder / "chatsite.sqlite3")) as database:
            seen = "SELECT guest FROM conversations_conversation WHERE id = ?"
            key = database.execute(seen, (bobs.replace("-", ""),)).fetchone()[0]
            now = f"{datetime.now(UTC):%Y-%m-%d %H:%M:%S}"
            database.execute("UPDATE conversations_guest SET seen = ? WHERE key = ?", (now, key))
            database.commit()
        server.stop()
        server.start()
        await until_there_are(server, conversations=1, files=1)
        assert (await ada.ask("GET", "/conversations"))["conversations"] == []
        assert len((await bob.ask("GET", "/conversations"))["conversations"]) == 1
        again = await ada.page()
        assert (await again.say("Again"))["state"] == "complete", "a guest who comes back is new"


async def write_with_a_file(person: Person) -> str:
    page = await person.page()
    file = await attach_file(person, b"a small note", name="note.txt")
    await page.say("Hello", attachments=[file["id"]])
    return page.conversation


async def until_there_are(server: Server, *, conversations: int, files: int) -> None:
    folder = server.folder / "files"
    async with asyncio.timeout(20):
        while True:
            there = sum(path.is_file() for path in folder.rglob("*"))
            if (count(server, "conversations_conversation"), there) == (conversations, files):
                return
            await asyncio.sleep(0.05)


async def test_sessions_that_are_over_are_removed(server: Server) -> None:
    async with Person(server.url), Person(server.url):
        with closing(sqlite3.connect(server.folder / "chatsite.sqlite3")) as database:
            one = database.execute("SELECT session_key FROM django_session").fetchone()[0]
            sql = "UPDATE django_session SET expire_date = '2020-01-01' WHERE session_key = ?"
            database.execute(sql, (one,))
            database.commit()
        server.stop()
        server.start()
        async with asyncio.timeout(20):
            while count(server, "django_session") != 1:  # noqa: ASYNC110 - another process
                await asyncio.sleep(0.05)


@pytest.mark.parametrize("has_account", [False, True], ids=["sign-up", "sign-in"])
async def test_what_is_under_way_while_a_guest_signs_in_is_the_accounts(
    server: Server, has_account: bool
) -> None:
    name, password, progress = "grace", "petrel-1952", "/conversations/import/progress"
    if has_account:
        server.add_user(name, password)
    async with Person(server.url) as grace:
        form, headers = aiohttp.FormData(), grace.headers()
        form.add_field("file", conversation_file(10_000), filename="a.json")
        asked_for, signed_in = asyncio.Event(), asyncio.Event()

        async def slowly() -> AsyncIterator[bytes]:
            asked_for.set()  # the server knows by then whose it is
            yield b"a small "
            await signed_in.wait()
            yield b"note"

        async def status(path: str, data: Any, **more: str) -> int:
            wait = "X-File-Name" in more
            url, named = server.url + path, headers | more
            async with grace.http.post(url, data=data, headers=named, expect100=wait) as answer:
                return answer.status

        imported = asyncio.create_task(status("/conversations/import", form))
        while (await grace.ask("GET", progress))["import"] is None:  # noqa: ASYNC110
            await asyncio.sleep(0.01)
        upload = asyncio.create_task(status("/files", slowly(), **{"X-File-Name": "b.txt"}))
        await asked_for.wait()
        if has_account:
            fields, page = {"password": password}, "/accounts/login/"
        else:
            fields, page = {"password1": password, "password2": password}, "/accounts/signup/"
        assert (await submit(grace, page, username=name, **fields)).status == 302
        signed_in.set()
        assert await upload == 200
        assert count(server, "conversations_upload WHERE user_id IS NOT NULL") == 1
        told = await grace.ask("GET", progress)
        assert told["import"] is not None, "the account sees how far it is"
        assert await imported in (200, 202)  # at once on a quick machine
        async with asyncio.timeout(60):
            while not (await grace.ask("GET", "/conversations"))["count"]:  # noqa: ASYNC110
                await asyncio.sleep(0.1)
