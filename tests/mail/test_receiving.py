"""The channel receives from a real mailbox into a real database."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from dataclasses import replace
from email import message_from_bytes
from functools import partial
from pathlib import Path

import pytest
from asgiref.sync import sync_to_async
from django.contrib.auth.models import User

from chatsite.channels.channel import Trouble
from chatsite.conversations.owners import Owner
from chatsite.files.folder import Folder
from chatsite.files.intake import KEPT_FREE, Intake
from chatsite.mail.account import MailAccount, Strangers
from chatsite.mail.addresses import add_address, verify_address
from chatsite.mail.answers import finish_mail
from chatsite.mail.arrivals import LONGEST_HELD, STRANGERS_FREE, Arrivals
from chatsite.mail.attached import AttachedFiles
from chatsite.mail.channel import MailChannel, asked_text
from chatsite.mail.models import Mail
from chatsite.turns.context.turn_context import PageRequest
from tests.fakes.dovecot import Dovecot
from tests.fakes.mailing import until, written

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.slow]
Make = Callable[[MailAccount], MailChannel]


@pytest.fixture
async def make(tmp_path: Path) -> AsyncIterator[Make]:
    folder = Folder(tmp_path / "mail")

    def channel(account: MailAccount) -> MailChannel:
        return MailChannel(
            account=account,
            arrivals=Arrivals(account=account, folder=folder),
            attached=AttachedFiles(
                intake=Intake(tmp_path / "files"),
                folder=folder,
            ),
            ask=partial(PageRequest, query=""),
            poll_seconds=0.2,
        )

    yield channel


@pytest.fixture
async def ada() -> int:
    user = await sync_to_async(User.objects.create_user)("ada")
    await add_address(user=user.pk, address="ada@example.org")
    await verify_address(user=user.pk, address="ada@example.org")
    return user.pk


async def received(channel: MailChannel, count: int) -> list[Mail]:
    """The next mails, with the channel closed behind them."""
    found: list[Mail] = []
    receiving = channel.receive()
    async with asyncio.timeout(30):
        while len(found) < count:
            found.append(await anext(receiving))
    await receiving.aclose()  # type: ignore[attr-defined]
    await channel.close()
    return found


async def test_it_goes_on_where_it_stopped_with_what_is_unfinished_first(
    make: Make, account: MailAccount, mailbox: Dovecot, ada: int
) -> None:
    for number in range(3):
        mailbox.deliver(written(f"{number}", subject=f"{number}"))
    first = await received(make(account), 3)
    assert [mail.text for mail in first] == ["0", "1", "2"]
    await finish_mail(mail=first[0].id, state="answered")
    mailbox.deliver(written("3", subject="3"))
    again = await received(make(account), 3)
    assert [mail.text for mail in again] == ["1", "2", "3"]
    assert [mail.id for mail in again[:2]] == [mail.id for mail in first[1:]]


async def test_without_idle_the_mailbox_is_asked(
    make: Make, account: MailAccount, ada: int
) -> None:
    with Dovecot(idle=False) as server:
        account = replace(account, imap=replace(account.imap, port=server.port))
        channel = make(account)
        server.deliver(written("One", subject="One"))
        receiving = channel.receive()
        async with asyncio.timeout(30):
            assert (await anext(receiving)).text == "One"
            server.deliver(written("Two", subject="Two"))
            assert (await anext(receiving)).text == "Two"
        await receiving.aclose()  # type: ignore[attr-defined]
        await channel.close()


@pytest.mark.parametrize("strangers", ["hold", "label"])
async def test_strangers_mails_end_before_the_disk_is_full_and_an_accounts_waits(
    make: Make,
    account: MailAccount,
    mailbox: Dovecot,
    ada: int,
    monkeypatch: pytest.MonkeyPatch,
    strangers: Strangers,
) -> None:
    free = [STRANGERS_FREE - 1]
    monkeypatch.setattr(Folder, "free_bytes", lambda self: free[0])
    mailbox.deliver(written("Hello", sender="eve@evil.example", checked=""))
    mailbox.deliver(written("Mine", files={"a.txt": b"Two metres."}))
    channel = make(replace(account, strangers=strangers))
    assert [mail.text for mail in await received(channel, 1)] == ["Mine"]
    states = await sync_to_async(lambda: list(Mail.objects.values_list("sender", "state")))()
    assert ("eve@evil.example", "refused") in states
    free[0] = KEPT_FREE - 1
    mailbox.deliver(written("Later"))
    until(lambda: len(mailbox.numbers()) == 3)
    with pytest.raises(Trouble, match="the disk is nearly full, so mails wait"):
        await received(make(account), 2)  # the first is the one that isn't answered yet
    free[0] = STRANGERS_FREE
    assert [mail.text for mail in await received(make(account), 2)] == ["Mine", "Later"]


async def test_of_a_strangers_long_mail_the_beginning_is_held_and_it_says_so(
    make: Make, account: MailAccount, mailbox: Dovecot, ada: int
) -> None:
    mailbox.deliver(written("word " * 60_000, sender="eve@evil.example", checked=""))
    mailbox.deliver(written("Mine"))
    channel = make(replace(account, strangers="hold"))
    assert [mail.text for mail in await received(channel, 1)] == ["Mine"]
    held = await sync_to_async(Mail.objects.get)(state="held")
    assert len(held.text) == LONGEST_HELD
    assert held.refused == ["The end of this mail was not kept: it is very long."]


async def test_a_refusal_is_in_the_language_that_the_senders_program_names(
    make: Make, account: MailAccount, mailbox: Dovecot, ada: int
) -> None:
    large = {"Accept-Language": "de-DE, en-US"}
    channel = make(account)
    mailbox.deliver(written("Hallo", sender="bob@example.org", headers=large))
    (mail,) = await received(channel, 1)
    assert mail.outgoing is not None and channel.language(mail) == "de"
    assert "Deine Mail wurde nicht gelesen" in str(message_from_bytes(bytes(mail.outgoing)))


async def test_a_mail_without_an_id_is_taken_once(
    make: Make, account: MailAccount, mailbox: Dovecot, ada: int
) -> None:
    lines = written("Hello").split(b"\r\n")
    nameless = b"\r\n".join(line for line in lines if not line.startswith(b"Message-ID"))
    for _ in range(2):
        mailbox.deliver(nameless)
    mailbox.deliver(written("Another", subject="Another"))
    assert [mail.text for mail in await received(make(account), 2)] == ["Hello", "Another"]


async def test_who_asks_is_the_account_and_its_files_come_once(
    make: Make, account: MailAccount, mailbox: Dovecot, ada: int
) -> None:
    mailbox.deliver(written("How long?", files={"a.txt": b"12 m", "b.exe": b"MZ\x90" * 99}))
    channel = make(account)
    (mail,) = await received(channel, 1)
    question, again = await channel.who(mail), await channel.who(mail)
    assert question is not None and question == again
    assert (question.source, question.speaker, question.person) == ("email", "", "")
    assert question.request.owner == Owner(user=ada)
    assert question.id == question.client_id == str(mail.id)
    assert question.text == "Subject: The quay\n\nHow long?"
    assert len(question.attachments) == 1
    refused = await sync_to_async(lambda: Mail.objects.get().refused)()
    assert len(refused) == 1 and refused[0].startswith("b.exe was not taken: ")


async def test_more_files_than_a_message_takes_are_named(
    make: Make, account: MailAccount, mailbox: Dovecot, ada: int
) -> None:
    mailbox.deliver(written("Many", files={f"{n}.txt": f"{n}".encode() for n in range(12)}))
    channel = make(account)
    (mail,) = await received(channel, 1)
    question = await channel.who(mail)
    assert question is not None and len(question.attachments) == 10
    refused = await sync_to_async(lambda: Mail.objects.get().refused)()
    assert [one.partition(" ")[0] for one in refused] == ["10.txt", "11.txt"]


async def test_an_external_sender_is_counted_by_address(
    make: Make, account: MailAccount, mailbox: Dovecot
) -> None:
    mailbox.deliver(written("Hello", sender="eve@evil.example", checked=""))
    channel = make(replace(account, strangers="label"))
    (mail,) = await received(channel, 1)
    question = await channel.who(mail)
    assert question is not None
    assert question.speaker == "External sender <eve@evil.example>"
    assert question.person == "mail:eve@evil.example"


def test_only_a_threads_first_mail_is_asked_with_its_subject() -> None:
    first = Mail(subject="The quay", first=True)
    assert asked_text(first, "How long?") == "Subject: The quay\n\nHow long?"
    assert asked_text(first, "") == "Subject: The quay"
    assert asked_text(Mail(subject="The quay", first=False), "How long?") == "How long?"
