"""One's own account: a new password, everything as a file, deletion."""

from __future__ import annotations

import asyncio
import io
import json
import secrets
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from typing import Any
from zipfile import ZipFile

import aiohttp
import pytest

from tests.fakes.openai_server import FakeOpenAI
from tests.person import Page, Person
from tests.running import Server
from tests.story.conftest import provider_environment
from tests.web.browser_requests import Answer, ask, attach_file, submit

PASSWORD = "a-long-password-1815"
NEW = "another-password-1852"
SLOW = "[[mode=slow;tokens=300]]"


@pytest.fixture(scope="module")
def server(fake: FakeOpenAI, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    folder = tmp_path_factory.mktemp("own-account")
    with Server(folder, **provider_environment(fake, SIGNUP="true")) as running:
        yield running
    assert "Traceback" not in running.log, running.log
    assert "Warning" not in running.log, running.log
    assert PASSWORD not in running.log and NEW not in running.log


async def sign_up(person: Person) -> str:
    name = f"ada-{secrets.token_hex(4)}"
    form = {"username": name, "password1": PASSWORD, "password2": PASSWORD}
    assert (await submit(person, "/accounts/signup/", **form)).status == 302
    return name


async def closed(page: Page) -> int | None:
    async with asyncio.timeout(5):
        while (await page.socket.receive()).type is aiohttp.WSMsgType.TEXT:
            pass
    return page.socket.close_code


async def change_password(person: Person, old: str = PASSWORD, new: str = NEW) -> Answer:
    form = {"old_password": old, "new_password1": new, "new_password2": new}
    return await submit(person, "/accounts/password/", **form)


async def test_a_new_password_keeps_this_session_and_ends_the_others(server: Server) -> None:
    async with Person(server.url) as ada, Person(server.url) as thief:
        name = await sign_up(ada)
        await thief.sign_in(name, PASSWORD)
        stolen = await thief.page()
        changed = await change_password(ada)
        assert (changed.status, changed.headers["location"]) == (302, "/accounts/")
        assert await closed(stolen) == 4401
        assert '"signed_in": false' in (await ask(thief, "GET", "/chat")).text
        assert "Your password is changed" in (await ask(ada, "GET", "/accounts/")).text
        assert (await (await ada.page()).say("Still here"))["state"] == "complete"
        with pytest.raises(AssertionError, match="not signed in"):
            await thief.sign_in(name, PASSWORD)
        await thief.sign_in(name, NEW)


async def test_a_new_password_takes_the_old_one(server: Server) -> None:
    async with Person(server.url) as ada:
        name = await sign_up(ada)
        refused = await change_password(ada, old="a-guess")
        assert refused.status == 200 and "This isn&#x27;t your password." in refused.text
        assert f'Sign-in failed: account "{name}"' in server.log


async def test_a_guest_is_asked_to_sign_in_for_what_only_accounts_have(server: Server) -> None:
    async with Person(server.url) as guest:
        for path in ("/accounts/password/", "/accounts/delete/"):
            answer = await ask(guest, "GET", path)
            assert answer.status == 302
            assert answer.headers["location"] == f"/accounts/login/?next={path}"


async def export(person: Person) -> dict[str, bytes]:
    answer = await ask(person, "GET", "/accounts/export/")
    assert answer.status == 200
    assert answer.headers["content-disposition"].startswith('attachment; filename="chatsite-')
    with ZipFile(io.BytesIO(answer.body)) as archive:
        assert archive.testzip() is None
        return {name: archive.read(name) for name in archive.namelist()}


@pytest.mark.parametrize("with_account", [True, False])
async def test_the_export_has_everything_and_can_be_restored(
    with_account: bool, server: Server
) -> None:
    async with Person(server.url) as ada, Person(server.url) as bob:
        name = await sign_up(ada) if with_account else ""
        attached = await attach_file(ada, b"The quay is 12 m long.", name="survey.txt")
        page = await ada.page()
        said = await page.say("About the quay", attachments=[attached["id"]])
        again = {"client_id": secrets.token_hex(16), "message": said["message"]["id"]}
        again["client_id"] = "b7e1a6c4-2d38-4f19-8e60-5a9d3c2b1f07"
        await page.command("again", agent="demo", **again)
        await page.until("turn_ended")
        await (await ada.page()).say("Something else")
        deleted = await ada.page()
        await deleted.say("Deleted")
        await ada.ask("DELETE", f"/conversations/{deleted.conversation}")
        await (await bob.page()).say("By Bob")
        found = await export(ada)
    names = sorted(found)
    first = "conversations/00001 about-the-quay"
    assert names == [
        "README.txt",
        "account.json",
        f"{first}.chatsite.json",
        f"{first}.other-versions.json",
        "conversations/00002 something-else.chatsite.json",
        f"files/{attached['id']}/survey.txt",
        "prompts.json",
    ]
    account = json.loads(found["account.json"])
    assert account.get("username", "") == name and ("guest" in account) is not with_account
    assert "password" not in account
    assert found[names[-2]] == b"The quay is 12 m long."
    (replaced,) = json.loads(found[f"{first}.other-versions.json"])
    assert replaced["role"] == "assistant" and replaced["content"]
    async with Person(server.url) as elsewhere:
        saved = json.loads(found[f"{first}.chatsite.json"])
        restored = await elsewhere.ask("POST", "/conversations/import", saved)
        assert restored["conversation"]["title"] == "About the quay"


async def test_who_has_nothing_here_gets_no_file(server: Server) -> None:
    path = f"{server.url}/accounts/export/"
    async with aiohttp.ClientSession() as http, http.get(path) as answer:
        assert answer.status == 404


def rows(server: Server, sql: str, *values: Any) -> list[tuple[Any, ...]]:
    with closing(sqlite3.connect(server.folder / "chatsite.sqlite3")) as database:
        return database.execute(sql, values).fetchall()


async def test_a_deleted_account_leaves_nothing(server: Server, fake: FakeOpenAI) -> None:
    async with Person(server.url) as ada, Person(server.url) as other, Person(server.url) as bob:
        name = await sign_up(ada)
        await other.sign_in(name, PASSWORD)
        kept = await bob.page()
        await kept.say("By Bob")
        attached = await attach_file(ada, b"Mine alone", name="mine.txt")
        page, elsewhere = await ada.page(), await other.page()
        await page.say("My words", attachments=[attached["id"]])
        await elsewhere.send(SLOW)
        await elsewhere.until("turn_started")
        refused = await submit(ada, "/accounts/delete/", password="a-guess")
        assert refused.status == 200 and "This isn&#x27;t your password." in refused.text
        deleted = await submit(ada, "/accounts/delete/", password=PASSWORD)
        assert (deleted.status, deleted.headers["location"]) == (302, "/accounts/")
        assert await closed(page) == await closed(elsewhere) == 4401
        assert "Your account is deleted." in (await ask(ada, "GET", "/accounts/")).text
        for person in (ada, other):
            assert (await person.ask("GET", "/conversations"))["count"] == 0
            assert (await ask(person, "GET", f"/files/{attached['id']}")).status == 404
        with pytest.raises(AssertionError, match="not signed in"):
            await ada.sign_in(name, PASSWORD)
        async with asyncio.timeout(5):
            while fake.in_flight:  # noqa: ASYNC110 - another thread's number
                await asyncio.sleep(0.02)
        session = other.cookie("session")
        await asyncio.to_thread(server.manage, "purge")
        assert rows(server, "SELECT 1 FROM auth_user WHERE username = ?", name) == []
        found = rows(
            server, "SELECT 1 FROM conversations_message WHERE content LIKE ?", "%My words%"
        )
        assert found == []
        assert rows(server, "SELECT 1 FROM conversations_upload WHERE name = 'mine.txt'") == []
        stored = rows(server, "SELECT 1 FROM django_session WHERE session_key = ?", session)
        assert stored == []
        assert (await kept.say("Still here"))["state"] == "complete"
    assert f'Account "{name}": deleted' in server.log
