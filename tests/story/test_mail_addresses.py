"""Accounts verify the addresses from which they write by mail."""

from __future__ import annotations

import asyncio
import io
import json
import re
import secrets
from collections.abc import Iterator
from zipfile import ZipFile

import pytest

from tests.fakes.dovecot import Dovecot
from tests.fakes.mailing import (
    AGENT,
    SITE,
    mail_environment,
    mail_server,
    state_of,
    until,
    written,
)
from tests.fakes.openai_server import FakeOpenAI
from tests.fakes.smtp_sink import SmtpSink, text_of
from tests.person import Person
from tests.running import Server
from tests.story.conftest import provider_environment
from tests.web.browser_requests import ask, ask_from_page, submit

PASSWORD = "a-long-password-1815"
PATH = "/accounts/mail/"


@pytest.fixture(scope="module")
def server(
    fake: FakeOpenAI,
    mailbox: Dovecot,
    sink: SmtpSink,
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[Server]:
    environment = provider_environment(fake, **mail_environment(mailbox, sink), SIGNUP="true")
    with mail_server(tmp_path_factory.mktemp("addresses"), environment) as running:
        yield running


async def sign_up(person: Person) -> str:
    name = f"ada-{secrets.token_hex(4)}"
    form = {"username": name, "password1": PASSWORD, "password2": PASSWORD}
    assert (await submit(person, "/accounts/signup/", **form)).status == 302
    return name


async def add(person: Person, sink: SmtpSink, address: str) -> str:
    """Add an address; the path of the link that was mailed there."""
    before = [to for to in sink.to if to == [address.lower()]]
    assert (await submit(person, PATH, address=address)).status == 302
    mails = await asyncio.to_thread(sink.wait_to, address.lower(), len(before) + 1)
    link = re.search(rf"{re.escape(SITE)}(/accounts/mail/\S+)", text_of(mails[-1]))
    assert link is not None, text_of(mails[-1])
    return link[1]


async def test_the_mailed_link_makes_an_address_the_accounts_own(
    server: Server, mailbox: Dovecot, sink: SmtpSink
) -> None:
    async with Person(server.url) as ada, Person(server.url) as eve:
        name = await sign_up(ada)
        await sign_up(eve)
        address = f"{name}@example.org"
        assert PATH in (await ask(ada, "GET", "/accounts/")).text
        link = await add(ada, sink, address.title())
        assert "waits for its link" in (await ask(ada, "GET", PATH)).text
        refused = await ask(eve, "GET", link)
        assert refused.status == 403 and "This link is for another account." in refused.text
        mailbox.deliver(written("Too early", sender=address, id="early@example.org"))
        await asyncio.to_thread(until, lambda: state_of(server, "early@example.org") == "answered")
        assert (await ask(ada, "GET", link)).status == 302
        assert "Your address is verified." in (await ask(ada, "GET", PATH)).text
        mailbox.deliver(written("Now [[text=Yes.]]", sender=address, id="now@example.org"))
        await asyncio.to_thread(until, lambda: state_of(server, "now@example.org") == "answered")
        assert any(text_of(one).startswith("Yes.") for one in sink.wait_to(address))


async def test_the_download_of_everything_has_the_addresses(server: Server, sink: SmtpSink) -> None:
    async with Person(server.url) as ada:
        name = await sign_up(ada)
        await add(ada, sink, f"{name}@example.org")
        answer = await ask(ada, "GET", "/accounts/export/")
    with ZipFile(io.BytesIO(answer.body)) as archive:
        account = json.loads(archive.read("account.json"))
    assert account["mail_addresses"] == [f"{name}@example.org"]


async def test_a_link_without_a_sign_in_asks_for_one(server: Server, sink: SmtpSink) -> None:
    async with Person(server.url) as ada, Person(server.url) as guest:
        name = await sign_up(ada)
        link = await add(ada, sink, f"{name}@example.org")
        for path in (link, PATH):
            answer = await ask(guest, "GET", path)
            assert answer.status == 302 and "/accounts/login/?next=" in answer.headers["location"]


async def test_a_changed_or_foreign_link_is_refused(server: Server, sink: SmtpSink) -> None:
    async with Person(server.url) as ada:
        name = await sign_up(ada)
        link = await add(ada, sink, f"{name}@example.org")
        changed = await ask(ada, "GET", link[:-3] + "x/")
        assert changed.status == 403 and "This link isn&#x27;t whole." in changed.text
        assert "waits for its link" in (await ask(ada, "GET", PATH)).text


async def test_an_address_that_was_removed_is_a_strangers(
    server: Server, mailbox: Dovecot, sink: SmtpSink
) -> None:
    async with Person(server.url) as ada:
        name = await sign_up(ada)
        address = f"{name}@example.org"
        link = await add(ada, sink, address)
        await ask(ada, "GET", link)
        page = (await ask(ada, "GET", PATH)).text
        remove = re.search(r'action="(/accounts/mail/\d+/remove/)"', page)
        assert remove is not None
        assert (await ask_from_page(ada, "POST", remove[1])).status == 302
        assert address not in (await ask(ada, "GET", PATH)).text
        gone = await ask(ada, "GET", link)
        assert gone.status == 403 and "This address was removed" in gone.text
        mailbox.deliver(written("Hello [[text=No.]]", sender=address, id=f"{name}@gone.example"))
        mails = await asyncio.to_thread(sink.wait_to, address, 2)
        assert "no account here uses the address" in text_of(mails[1])


async def test_nobody_removes_another_accounts_address(server: Server, sink: SmtpSink) -> None:
    async with Person(server.url) as ada, Person(server.url) as eve, Person(server.url) as guest:
        name = await sign_up(ada)
        await sign_up(eve)
        await add(ada, sink, f"{name}@example.org")
        page = (await ask(ada, "GET", PATH)).text
        remove = re.search(r'action="(/accounts/mail/\d+/remove/)"', page)
        assert remove is not None
        for person in (eve, guest):
            assert (await ask_from_page(person, "POST", remove[1])).status == 302
        assert f"{name}@example.org" in (await ask(ada, "GET", PATH)).text


async def test_an_address_belongs_to_the_first_account_that_verifies_it(
    server: Server, sink: SmtpSink
) -> None:
    async with Person(server.url) as ada, Person(server.url) as bob:
        name = await sign_up(ada)
        await sign_up(bob)
        address = f"{name}@example.org"
        links = [await add(ada, sink, address), await add(bob, sink, address)]
        assert (await ask(ada, "GET", links[0])).status == 302
        late = await ask(bob, "GET", links[1])
        assert late.status == 403 and "belongs to another account" in late.text


@pytest.mark.parametrize("address", [AGENT, "nobody", "a@b@example.org", "é@example.org", ""])
async def test_what_is_no_address_of_a_person_is_refused(address: str, server: Server) -> None:
    async with Person(server.url) as ada:
        await sign_up(ada)
        refused = await submit(ada, PATH, address=address)
        assert refused.status == 200 and "field-errors" in refused.text


@pytest.mark.thorough
async def test_nobody_fills_an_inbox_with_links(
    fake: FakeOpenAI, sink: SmtpSink, mailbox: Dovecot, server: Server
) -> None:
    environment = provider_environment(
        fake, **mail_environment(mailbox, sink), SIGNUP="true", LIMITS_FACTOR="1"
    )
    with mail_server(server.folder / "narrow", environment) as narrow:
        async with Person(narrow.url) as ada:
            await sign_up(ada)
            target = f"{secrets.token_hex(4)}@example.org"
            found = [(await submit(ada, PATH, address=target)).status for _ in range(6)]
        assert found == [302] * 5 + [429]
        assert sink.to.count([target]) == 5
