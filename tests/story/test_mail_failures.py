"""Mail while servers are killed, mailboxes are away, and hundreds of mails come at once."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.fakes.dovecot import PASSWORD as MAILBOX_PASSWORD
from tests.fakes.dovecot import Dovecot
from tests.fakes.mailing import (
    add_account,
    end,
    id_of,
    mail_environment,
    rows,
    state_of,
    states,
    until,
    written,
)
from tests.fakes.openai_server import FakeOpenAI
from tests.fakes.smtp_sink import SmtpSink, text_of
from tests.person import Person
from tests.running import Server
from tests.story.agents import write_agent
from tests.story.conftest import provider_environment
from tests.web.browser_requests import ask, submit

pytestmark = pytest.mark.thorough

Make = Callable[..., Server]
STAFF = ("grace", "compilers-1952")


@pytest.fixture
def mailbox() -> Iterator[Dovecot]:
    with Dovecot() as running:
        yield running


@pytest.fixture
def sink() -> Iterator[SmtpSink]:
    with SmtpSink() as running:
        yield running


@pytest.fixture
def make(tmp_path: Path, fake: FakeOpenAI, mailbox: Dovecot, sink: SmtpSink) -> Iterator[Make]:
    """Starts a server on this mailbox with Ada's and Bob's verified addresses."""
    made: list[Server] = []

    def start(**more: str) -> Server:
        write_agent(tmp_path / "agents", "plain")
        environment = provider_environment(
            fake,
            **mail_environment(mailbox, sink, MAIL_AGENT="plain", **more),
            AGENTS_DIR=str(tmp_path / "agents"),
        )
        server = Server(tmp_path / "var", **environment).start()
        made.append(server)
        for name in ("ada", "bob"):
            add_account(server, name)
        return server

    yield start
    for server in made:
        end(server)


def test_a_server_killed_while_it_answers_answers_once_after_its_restart(
    make: Make, fake: FakeOpenAI, mailbox: Dovecot, sink: SmtpSink
) -> None:
    server = make()
    mailbox.deliver(written("Long [[mode=slow;tokens=12]]", id="1@example.org"))
    until(lambda: fake.in_flight)
    server.kill()
    server.start()
    mailbox.deliver(written("Short [[text=Yes.]]", id="2@example.org", subject="Another"))
    answers = sink.wait(2)
    assert sorted(str(one["In-Reply-To"]) for one in answers) == [
        "<1@example.org>",
        "<2@example.org>",
    ]
    until(lambda: states(server) == ["answered", "answered"])
    server.stop()
    assert len(sink.raw) == 2


def test_a_server_killed_while_it_sends_sends_the_same_mail_again_and_no_other(
    make: Make, mailbox: Dovecot, sink: SmtpSink
) -> None:
    server = make()
    # It was taken, but nobody learned that.
    sink.replies.append("take 451 Lost")
    mailbox.deliver(written("Hello [[text=Hi.]]", id="1@example.org"))
    sink.wait(1)
    assert state_of(server, "1@example.org") == "sending"
    server.kill()
    server.start()
    first, second = sink.wait(2)
    assert sink.raw[0] == sink.raw[1] and id_of(first) == id_of(second)
    until(lambda: state_of(server, "1@example.org") == "answered")


def test_a_server_killed_between_reading_and_asking_loses_nothing(
    make: Make, fake: FakeOpenAI, mailbox: Dovecot, sink: SmtpSink
) -> None:
    server = make()
    server.kill()
    for number in range(5):
        mailbox.deliver(
            written(
                f"Of the night {number} [[text=Yes {number}.]]",
                subject=f"Night {number}",
                files={"notes.txt": b"The quay is long."},
            )
        )
    server.start()
    until(lambda: states(server))
    server.kill()
    server.start()
    said = sorted(text_of(one).partition("\n")[0] for one in sink.wait(5))
    assert said == [f"Yes {number}." for number in range(5)]
    until(lambda: states(server) == ["answered"] * 5)
    assert len(sink.raw) == 5


def test_while_mailbox_and_mail_server_are_away_nothing_is_lost(
    make: Make, mailbox: Dovecot, sink: SmtpSink
) -> None:
    server = make()
    sink.stop()
    mailbox.deliver(written("One [[text=1.]]", subject="One"))
    until(lambda: "mail: the mail server 127.0.0.1" in server.log)
    mailbox.stop()
    until(lambda: "mail: the mailbox at 127.0.0.1" in server.log)
    sink.start()
    mailbox.start()
    mailbox.deliver(written("Two [[text=2.]]", subject="Two"))
    assert sorted(text_of(one)[:2] for one in sink.wait(2)) == ["1.", "2."]


def test_a_renumbered_mailbox_brings_no_second_answers(
    make: Make, mailbox: Dovecot, sink: SmtpSink
) -> None:
    server = make()
    for number in range(3):
        mailbox.deliver(written(f"{number} [[text=Yes.]]", subject=f"{number}"))
    sink.wait(3)
    until(lambda: not mailbox.numbers("UNSEEN"))
    mailbox.renumber()
    mailbox.deliver(written("New [[text=New.]]", subject="New"))
    assert text_of(sink.wait(4)[3]).startswith("New.")
    until(lambda: states(server) == ["answered"] * 4)


def test_a_wrong_password_is_said_once_and_the_page_works(
    make: Make, mailbox: Dovecot, sink: SmtpSink
) -> None:
    mailbox.set_password("another-one-1843")
    server = make()
    sentence = f"mail: the mailbox at 127.0.0.1:{mailbox.port} refuses the password of agent"
    until(lambda: sentence in server.log)

    async def talk() -> None:
        async with Person(server.url) as ada:
            page = await ada.page(agent="plain")
            assert (await page.say("Hello [[text=Hi.]]"))["state"] == "complete"

    asyncio.run(talk())
    assert server.log.count(sentence) == 1 and MAILBOX_PASSWORD not in server.log


def test_a_flood_after_a_night_is_answered_whole_and_nobody_else_waits(
    make: Make, mailbox: Dovecot, sink: SmtpSink
) -> None:
    server = make(MAX_ANSWERS_PER_OWNER="3")
    people = [add_account(server, f"person{number}") for number in range(20)]
    server.stop()
    for number in range(200):
        mailbox.deliver(
            written(
                f"Question {number} [[text=Answer {number}.]]",
                sender=people[number % 20],
                subject=f"Question {number}",
                id=f"{number}@example.org",
            )
        )
    server.start()
    until(lambda: len(states(server)) > 20)

    async def talk() -> float:
        async with Person(server.url) as ada:
            page = await ada.page(agent="plain")
            began = time.monotonic()
            await page.say("Hello [[text=Hi.]]")
            return time.monotonic() - began

    assert asyncio.run(talk()) < 5
    answers = sink.wait_for(lambda: len(sink.raw) >= 200, seconds=120)
    found = {str(one["In-Reply-To"]): text_of(one).partition(".")[0] for one in answers}
    assert found == {f"<{number}@example.org>": f"Answer {number}" for number in range(200)}
    until(lambda: states(server) == ["answered"] * 200)
    assert len(sink.raw) == 200


# ---- strangers -------------------------------------------------------------------------------
def test_external_mail_is_labelled_and_never_shown_as_the_owners_words(
    make: Make, fake: FakeOpenAI, mailbox: Dovecot, sink: SmtpSink
) -> None:
    """Each external sender has threads of their own, in an account that nobody signs in to."""
    server = make(MAIL_STRANGERS="label")
    mailbox.deliver(written("My PIN is 4711. [[text=Noted.]]", id="1@example.org"))
    private = sink.wait_to("ada@example.org")[0]
    # Somebody writes Ada's address into From, and answers in her thread.
    mailbox.deliver(
        written("What is the PIN? [[text=No idea.]]", checked="", answers=id_of(private))
    )
    forged = sink.wait_to("ada@example.org", 2)[1]
    mailbox.deliver(
        written("And mine? [[text=None.]]", sender="eve@evil.example", answers=id_of(forged))
    )
    sink.wait_to("eve@evil.example")
    found = rows(
        server,
        "SELECT user.username, message.speaker, message.content FROM conversations_message message "
        "JOIN conversations_conversation conversation ON conversation.id = message.conversation_id "
        "JOIN auth_user user ON user.id = conversation.user_id WHERE role = 'user' "
        "ORDER BY message.created",
    )
    assert [one[:2] for one in found] == [
        ("ada", ""),
        ("mail:agent@harbour.example", "External sender <ada@example.org>"),
        ("mail:agent@harbour.example", "External sender <eve@evil.example>"),
    ]
    last = [str(one["content"]) for one in fake.requests[-1]["messages"]]
    assert last[-1].startswith("External sender <eve@evil.example>: ")
    assert not any("4711" in text or "What is the PIN" in text for text in last)
    assert "/chat/" not in text_of(sink.wait_to("eve@evil.example")[0])


def test_a_mail_server_of_this_machine_needs_no_sign_in(make: Make, mailbox: Dovecot) -> None:
    with SmtpSink(signs_in=False) as relay:
        server = make(MAIL_SMTP=relay.url, MAIL_SMTP_PASSWORD="")
        mailbox.deliver(written("Hello [[text=Hi.]]"))
        (answer,) = relay.wait_to("ada@example.org")
        assert text_of(answer).startswith("Hi.")
        said = server.manage("mail_check")
        assert f"works: without a sign-in, the mail server 127.0.0.1:{relay.port}" in said


async def test_held_mail_waits_for_the_administrator(
    make: Make, mailbox: Dovecot, sink: SmtpSink
) -> None:
    server = await asyncio.to_thread(make, MAIL_STRANGERS="hold")
    await asyncio.to_thread(server.add_user, *STAFF)
    files = {"notes.txt": b"The quay is long."}
    for number, subject in enumerate(("Released", "Dropped"), start=1):
        mailbox.deliver(
            written(
                "Hello [[text=Hi.]]",
                sender="eve@evil.example",
                checked="",
                subject=subject,
                id=f"{number}@evil.example",
                files=files,
            )
        )
    await asyncio.to_thread(until, lambda: states(server) == ["held", "held"])
    assert sink.raw == []
    found = "SELECT id FROM conversations_mail WHERE message_id = ?"
    async with Person(server.url) as grace:
        await grace.sign_in(*STAFF)
        path = "/admin/mail/mail/"
        # The address of the list before mail had tables of its own.
        former = await ask(grace, "GET", "/admin/conversations/mail/")
        assert former.headers["location"] == path
        assert "Released" in (await ask(grace, "GET", path)).text
        for number, action in ((1, "answer_as_external"), (2, "drop")):
            ((id,),) = rows(server, found, f"{number}@evil.example")
            await submit(grace, path, action=action, _selected_action=id)
    (answer,) = await asyncio.to_thread(sink.wait_to, "eve@evil.example")
    assert answer["Subject"] == "Re: Released"
    await asyncio.to_thread(until, lambda: states(server) == ["answered", "dropped"])
    left = "SELECT text, subject FROM conversations_mail WHERE state = 'dropped'"
    assert rows(server, left) == [("", "")]
