"""Rights end when they end: on sockets that are open, in answers that are being written."""

from __future__ import annotations

import asyncio
import re
import secrets
import uuid
from collections.abc import Callable, Iterator
from typing import Any

import aiohttp
import pytest

from tests.fakes.openai_server import FakeOpenAI
from tests.person import Page, Person
from tests.running import Server
from tests.story.conftest import provider_environment
from tests.web.browser_requests import ask, submit

PASSWORD = "a-long-password-1815"
SLOW = "[[mode=slow;tokens=300]]"
# What the promise says; a socket that stays open longer fails the test.
SECONDS = 5.0


@pytest.fixture(scope="module")
def server(fake: FakeOpenAI, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    folder = tmp_path_factory.mktemp("rights")
    with Server(folder, **provider_environment(fake, SIGNUP="true")) as running:
        running.add_user("root", PASSWORD)
        yield running
    assert "Traceback" not in running.log, running.log
    assert "Warning" not in running.log, running.log


async def sign_up(person: Person) -> str:
    name = f"ada-{secrets.token_hex(4)}"
    form = {"username": name, "password1": PASSWORD, "password2": PASSWORD}
    assert (await submit(person, "/accounts/signup/", **form)).status == 302
    return name


async def closed(page: Page) -> tuple[int | None, str]:
    """The code and the reason of the close, which comes in time."""
    async with asyncio.timeout(SECONDS):
        while (message := await page.socket.receive()).type is aiohttp.WSMsgType.TEXT:
            pass
    return page.socket.close_code, str(message.extra)


# How an account's rights end, by another process.
DISABLED = "User.objects.filter(username=name).update(is_active=False)"
# In one transaction: what the server stores meanwhile would be left without its owner.
DELETED = "transaction.atomic(User.objects.get(username=name).delete)()"
PASSWORD_CHANGED = "u = User.objects.get(username=name); u.set_password('another-1'); u.save()"
STAFF = "User.objects.filter(username=name).update(is_staff={})"


async def elsewhere(server: Server, name: str, what: str) -> None:
    """Another process changes the database."""
    imports = "from django.contrib.auth.models import User; from django.db import transaction"
    code = f"{imports}; name = {name!r}; {what}"
    await asyncio.to_thread(server.manage, "shell", "-c", code)


@pytest.mark.parametrize("what", [DISABLED, DELETED, PASSWORD_CHANGED])
async def test_what_another_process_changes_ends_the_accounts_sockets(
    what: str, server: Server
) -> None:
    async with Person(server.url) as ada, Person(server.url) as bob, Person(server.url) as guest:
        name = await sign_up(ada)
        await sign_up(bob)
        one, other, bobs, guests = [await person.page() for person in (ada, ada, bob, guest)]
        await one.say("Before")
        await elsewhere(server, name, what)
        for page in (one, other):
            code, reason = await closed(page)
            assert code == 4401
            assert reason.startswith("Your password or your rights were changed, or your account")
        assert (await ask(ada, "GET", f"/chat/{one.conversation}")).status == 404
        assert (await bobs.say("Nobody ends mine"))["state"] == "complete"
        assert (await guests.say("Nor mine"))["state"] == "complete"


async def administer(root: Person, server: Server, name: str, change: Callable[..., Any]) -> None:
    listed = (await ask(root, "GET", f"/admin/auth/user/?q={name}")).text
    number = re.findall(r"/admin/auth/user/(\d+)/change/", listed)[-1]
    path = f"/admin/auth/user/{number}/change/"
    page = (await ask(root, "GET", path)).text
    form = {"csrfmiddlewaretoken": ""}
    for tag in re.findall(r"<input[^>]+>", page):
        said = dict(re.findall(r'(\w+)="([^"]*)"', tag))
        if "name" in said and not said["name"].startswith("_"):
            if said.get("type") != "checkbox":
                form[said["name"]] = said.get("value", "")
            elif " checked" in tag:
                form[said["name"]] = "on"
    change(form)
    answer = await ask(root, "POST", path, data=form, headers={"Origin": server.url})
    assert answer.status == 302, answer.text


async def test_an_administrator_who_disables_an_account_ends_it_at_once(server: Server) -> None:
    async with Person(server.url) as ada, Person(server.url) as root:
        name = await sign_up(ada)
        await root.sign_in("root", PASSWORD)
        page = await ada.page()
        await administer(root, server, name, lambda form: form.pop("is_active"))
        assert (await closed(page))[0] == 4401
        with pytest.raises(AssertionError, match="not signed in"):
            await ada.sign_in(name, PASSWORD)


async def test_who_is_no_longer_staff_gets_nothing_that_is_for_staff(server: Server) -> None:
    async with Person(server.url) as ada:
        name = await sign_up(ada)
        await elsewhere(server, name, STAFF.format(True))
        page = await ada.page()
        turn = (await page.say("For staff"))["turn"]
        assert (await ask(ada, "GET", f"/turns/{turn}/request")).status == 200
        await elsewhere(server, name, STAFF.format(False))
        assert (await closed(page))[0] == 4401
        assert (await ask(ada, "GET", f"/turns/{turn}/request")).status == 404
        assert '"staff": false' in (await ask(ada, "GET", "/chat")).text
        again = await ada.page(page.conversation)
        assert (await again.say("As anybody"))["state"] == "complete"


@pytest.mark.parametrize("what", [DISABLED, DELETED])
async def test_an_answer_for_an_account_that_is_gone_stops(
    what: str, server: Server, fake: FakeOpenAI
) -> None:
    async with Person(server.url) as ada:
        name = await sign_up(ada)
        page = await ada.page()
        await page.send(SLOW)
        await page.until("turn_started")
        await elsewhere(server, name, what)
        assert (await closed(page))[0] == 4401
        async with asyncio.timeout(SECONDS):
            while fake.in_flight:  # noqa: ASYNC110 - another thread's number
                await asyncio.sleep(0.02)


async def test_an_answer_goes_on_when_its_owner_changes_the_password(server: Server) -> None:
    async with Person(server.url) as ada:
        name = await sign_up(ada)
        page = await ada.page()
        await page.send("[[tokens=60;rate=12]]")
        await page.until("turn_started")
        await elsewhere(server, name, PASSWORD_CHANGED)
        assert (await closed(page))[0] == 4401
        await ada.sign_in(name, "another-1")
        again = await ada.page(page.conversation)
        running = again.snapshot.get("turn") is not None
        assert (not running) or (await again.until("turn_ended"))["state"] == "complete"


async def test_commands_of_a_deleted_account_are_not_done(server: Server) -> None:
    """Also those that arrive before the server has looked at the account again."""
    async with Person(server.url) as ada:
        name = await sign_up(ada)
        page = await ada.page()

        async def go_on() -> None:
            while not page.socket.closed:
                await page.command("preview", agent="demo", draft="Still?")
                fields = {"client_id": str(uuid.uuid4()), "text": "Still?"}
                await page.command("send", agent="demo", **fields)
                await asyncio.sleep(0.05)

        writing = asyncio.create_task(go_on())
        await elsewhere(server, name, DELETED)
        assert (await closed(page))[0] == 4401
        writing.cancel()
        assert (await ada.ask("GET", "/conversations"))["count"] == 0


async def test_the_administration_offers_no_groups(server: Server) -> None:
    """They would decide nothing in the page."""
    async with Person(server.url) as root:
        await root.sign_in("root", PASSWORD)
        start = await ask(root, "GET", "/admin/")
        assert "/admin/auth/user/" in start.text and "/admin/auth/group/" not in start.text
        assert (await ask(root, "GET", "/admin/auth/group/")).status == 404
        account = await ask(root, "GET", "/admin/auth/user/1/change/")
        assert 'name="is_staff"' in account.text and 'name="groups"' not in account.text
        people = await ask(root, "GET", "/admin/auth/user/")
        assert people.status == 200 and "groups__id" not in people.text
