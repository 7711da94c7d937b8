"""From a person's mail to the answer in their inbox: a real IMAP server, a real server process, a
model server and an SMTP server on sockets. Tests share them, each with accounts of its own."""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import Iterator
from email.message import EmailMessage
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest

from tests.fakes.dovecot import Dovecot
from tests.fakes.mailing import (
    AGENT,
    SITE,
    add_account,
    id_of,
    mail_environment,
    mail_server,
    rows,
    state_of,
    until,
    verify,
    written,
)
from tests.fakes.openai_server import FakeOpenAI
from tests.fakes.smtp_sink import SmtpSink, text_of
from tests.mail.broken_mails import BROKEN
from tests.person import Person
from tests.running import Server
from tests.story.conftest import provider_environment

PASSWORD = "a-long-password-1815"
HOURLY = 3


@pytest.fixture(scope="module")
def server(
    fake: FakeOpenAI,
    mailbox: Dovecot,
    sink: SmtpSink,
    agents: Path,
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[Server]:
    environment = provider_environment(
        fake,
        **mail_environment(mailbox, sink, MAIL_AGENT="plain", MAIL_THREAD_HOURLY=f"{HOURLY}"),
        AGENTS_DIR=str(agents),
    )
    with mail_server(tmp_path_factory.mktemp("mail"), environment) as running:
        yield running


@pytest.fixture
def ada(server: Server) -> str:
    """The verified address of a new account."""
    return add_account(server, f"ada-{secrets.token_hex(4)}")


@pytest.fixture
def bob(server: Server) -> str:
    return add_account(server, f"bob-{secrets.token_hex(4)}")


def new_id() -> str:
    return f"{secrets.token_hex(8)}@example.org"


def asked(fake: FakeOpenAI, containing: str) -> list[str]:
    """What the last request whose newest message holds this text has behind its instructions."""
    for request in reversed(fake.requests):
        messages: list[dict[str, Any]] = request["messages"]
        said = [str(one["content"]) for one in messages if one["role"] != "system"]
        if containing in said[-1]:
            return said
    raise AssertionError(f"nobody asked {containing!r}")


def thread_of(server: Server, id: str) -> str:
    """The conversation of the mail with this Message-ID."""
    ((found,),) = rows(
        server, "SELECT conversation_id FROM conversations_mail WHERE message_id = ?", id
    )
    return str(UUID(found))


def ends(server: Server, id: str, state: str) -> None:
    until(lambda: state_of(server, id) == state)


class Thread:
    """Ada's side of one thread."""

    def __init__(self, mailbox: Dovecot, sink: SmtpSink, sender: str) -> None:
        self.mailbox, self.sink, self.sender = mailbox, sink, sender
        self.answers: list[EmailMessage] = []
        self.ids: list[str] = []

    def say(self, text: str, **more: Any) -> EmailMessage:
        """A mail that answers the last answer, and the answer to it."""
        if self.answers:
            more = {"answers": id_of(self.answers[-1])} | more
        self.ids.append(new_id())
        self.mailbox.deliver(written(text, sender=self.sender, id=self.ids[-1], **more))
        self.answers = self.sink.wait_to(self.sender, len(self.answers) + 1)
        return self.answers[-1]


@pytest.fixture
def thread(mailbox: Dovecot, sink: SmtpSink, ada: str) -> Thread:
    return Thread(mailbox, sink, ada)


# ---- the way of a mail -----------------------------------------------------------------------
def test_a_mail_is_answered_in_its_thread(
    server: Server, fake: FakeOpenAI, mailbox: Dovecot, thread: Thread
) -> None:
    first = thread.say("How long is the quay? [[text=It is **40 m** long.]]")
    (began,) = thread.ids
    assert (first["To"], first["From"]) == (thread.sender, AGENT)
    assert first["Subject"] == "Re: The quay"
    assert (first["In-Reply-To"], first["References"]) == (f"<{began}>", f"<{began}>")
    assert first["Auto-Submitted"] == "auto-replied"
    text = text_of(first)
    assert text.startswith("It is **40 m** long.\n\n> How long is the quay?")
    html = first.get_body(("html",))
    assert html is not None and "<p>It is <strong>40 m</strong> long.</p>" in html.get_content()
    conversation = thread_of(server, began)
    assert f"{SITE}/chat/{conversation}?debug=true" in text
    assert "1 of 1 exchanges of this thread were sent to the model (" in text
    second = thread.say(
        "And the crane? [[text=It is free.]]\n\n"
        "On Tue, The Harbour <agent@harbour.example> wrote:\n> It is 40 m long.\n-- \nAda",
        subject="Re: The quay",
    )
    assert str(second["References"]).split() == [f"<{id_of(first)}>", second["In-Reply-To"]]
    assert asked(fake, "And the crane?") == [
        "Subject: The quay\n\nHow long is the quay? [[text=It is **40 m** long.]]",
        "It is **40 m** long.",
        "And the crane? [[text=It is free.]]",
    ]
    assert "2 of 2 exchanges of this thread were sent to the model" in text_of(second)
    assert thread_of(server, thread.ids[1]) == conversation
    title = "SELECT title FROM conversations_conversation WHERE id = ?"
    assert rows(server, title, UUID(conversation).hex) == [("The quay",)]
    whole = "SELECT text FROM conversations_mail WHERE message_id = ?"
    assert "> It is 40 m long." in rows(server, whole, thread.ids[1])[0][0]
    until(lambda: not mailbox.numbers("UNSEEN"))


async def test_a_thread_is_a_conversation_of_the_page_with_receipt_and_source(
    server: Server, fake: FakeOpenAI, mailbox: Dovecot, sink: SmtpSink
) -> None:
    name = f"ada-{secrets.token_hex(4)}"
    await asyncio.to_thread(server.add_user, name, PASSWORD)
    thread = Thread(mailbox, sink, verify(server, name))
    await asyncio.to_thread(thread.say, "How long is the quay? [[text=It is 40 m long.]]")
    async with Person(server.url) as person, Person(server.url) as other:
        await person.sign_in(name, PASSWORD)
        conversation = thread_of(server, thread.ids[0])
        page = await person.page(conversation, agent="plain")
        messages = page.snapshot["messages"]
        assert [(one["source"], one["role"]) for one in messages] == [
            ("email", "user"),
            ("web", "assistant"),
        ]
        assert page.snapshot["receipt"]["facts"]["sent"] == 1
        await page.say("And its depth? [[text=It is 6 m deep.]]")
        with pytest.raises(AssertionError, match="There is no such conversation"):
            await other.page(conversation, agent="plain")
    await asyncio.to_thread(thread.say, "And the crane? [[text=It is free.]]")
    assert asked(fake, "And the crane?")[-2] == "It is 6 m deep."


def test_a_mail_that_is_delivered_twice_is_answered_once(
    server: Server, fake: FakeOpenAI, mailbox: Dovecot, thread: Thread
) -> None:
    thread.say("Once? [[text=Once.]]")
    again = written("Once? [[text=Once.]]", sender=thread.sender, id=thread.ids[0])
    mailbox.deliver(again)
    mailbox.deliver(again)
    thread.say("Twice? [[text=Twice.]]")
    assert [text_of(one).partition("\n")[0] for one in thread.answers] == ["Once.", "Twice."]
    assert sum("Once?" in str(one["messages"][-1]["content"]) for one in fake.requests) == 1


def test_without_headers_of_a_thread_its_subject_is_found_within_a_month(
    server: Server, thread: Thread
) -> None:
    thread.say("One [[text=1]]", subject="The crane")
    thread.say("Two [[text=2]]", subject="AW: the  CRANE", answers="")
    thread.say("Three [[text=3]]", subject="The quay", answers="")
    thread.say("Four [[text=4]]", subject="The crane", answers="unknown@example.org")
    one, two, three, four = (thread_of(server, id) for id in thread.ids)
    assert one == two and len({one, three, four}) == 3


def test_a_reply_to_an_older_answer_is_a_reply_here(server: Server, thread: Thread) -> None:
    first = thread.say("One [[text=1]]")
    thread.say("Two [[text=2]]")
    thread.say("Of the first [[text=3]]", answers=id_of(first))
    replied = (
        "SELECT answer.content FROM conversations_message message JOIN conversations_message "
        "answer ON answer.id = message.reply_to JOIN conversations_mail mail ON mail.id = "
        "message.id WHERE mail.message_id = ?"
    )
    assert rows(server, replied, thread.ids[2]) == [("1",)]
    assert rows(server, replied, thread.ids[1]) == []


# ---- who is believed -------------------------------------------------------------------------
def stored_of(server: Server, id: str) -> tuple[Any, ...]:
    (found,) = rows(
        server,
        "SELECT text, subject, conversation_id FROM conversations_mail WHERE message_id = ?",
        id,
    )
    return found


@pytest.mark.parametrize(
    "checked",
    [
        "",
        "dmarc=fail header.from=example.org",
        "spf=pass smtp.mailfrom=evil.example; dkim=pass header.d=evil.example",
    ],
)
def test_a_forged_sender_gets_no_answer_and_nothing_is_stored_but_that_it_came(
    checked: str, server: Server, mailbox: Dovecot, sink: SmtpSink, ada: str
) -> None:
    id = new_id()
    mailbox.deliver(written("My secret?", sender=ada, id=id, checked=checked))
    ends(server, id, "refused")
    assert stored_of(server, id) == ("", "", None)
    assert [ada] not in sink.to
    until(lambda: f"mail from {ada} is refused: it may be forged" in server.log)


def test_a_results_header_that_the_sender_wrote_is_not_believed(
    server: Server, mailbox: Dovecot, sink: SmtpSink, ada: str
) -> None:
    id = new_id()
    own = written("My secret?", sender=ada, id=id, checked="dmarc=fail header.from=example.org")
    forged = b"Authentication-Results: mx.harbour.example; dmarc=pass header.from=example.org\r\n"
    head, _, rest = own.partition(b"\r\n")
    mailbox.deliver(head + b"\r\n" + forged + rest)
    ends(server, id, "refused")
    assert [ada] not in sink.to


def test_answers_go_to_from_never_to_reply_to_or_to_copies(sink: SmtpSink, thread: Thread) -> None:
    elsewhere = {"Reply-To": "eve@evil.example", "Cc": "bob@example.org"}
    answer = thread.say("Hello [[text=Hi.]]", headers=elsewhere)
    assert answer["To"] == thread.sender and answer["Cc"] is None
    assert not {"eve@evil.example", "bob@example.org"} & {to for all in sink.to for to in all}


def test_a_sender_without_a_verified_address_is_told_how_to_verify_it_once_a_day(
    server: Server, mailbox: Dovecot, sink: SmtpSink
) -> None:
    stranger = f"{secrets.token_hex(4)}@example.org"
    ids = [new_id(), new_id()]
    for id, state in zip(ids, ("answered", "refused"), strict=True):
        mailbox.deliver(written("Hello", sender=stranger, id=id))
        ends(server, id, state)
    (told,) = sink.wait_to(stranger)
    assert "no account here uses the address" in text_of(told)
    assert f"{SITE}/accounts/" in text_of(told)
    assert [stored_of(server, id)[0] for id in ids] == ["", ""]


def test_a_private_thread_reaches_nobody_else(
    server: Server, fake: FakeOpenAI, mailbox: Dovecot, sink: SmtpSink, thread: Thread, bob: str
) -> None:
    """Who knows the Message-IDs of another account's thread begins one of their own."""
    private = thread.say("My PIN is 4711. [[text=Noted.]]")
    others = Thread(mailbox, sink, bob)
    others.say("What is the PIN? [[text=No idea.]]", answers=id_of(private), subject="The quay")
    others.say("And of the first? [[text=None.]]", answers=thread.ids[0])
    for question in ("What is the PIN?", "And of the first?"):
        assert not any("4711" in said for said in asked(fake, question))
    own = thread_of(server, thread.ids[0])
    assert own not in {thread_of(server, id) for id in others.ids}
    thread.say("What is my PIN? [[text=4711.]]")
    assert any("4711" in said for said in asked(fake, "What is my PIN?")[:-1])
    assert not any("No idea" in said for said in asked(fake, "What is my PIN?"))


# ---- what isn't answered ---------------------------------------------------------------------
@pytest.mark.parametrize(
    "headers",
    [
        {"Auto-Submitted": "auto-replied"},
        {"Precedence": "bulk"},
        {"List-Id": "<harbour.example.org>"},
        {"Return-Path": "<>"},
        {"X-Autoresponder": "vacation"},
        {"X-MS-Exchange-Generated-Message-Source": "Mailbox Rules Agent"},
    ],
)
def test_a_programs_mail_is_never_answered_and_in_no_conversation(
    headers: dict[str, str], server: Server, mailbox: Dovecot, sink: SmtpSink, ada: str
) -> None:
    id = new_id()
    mailbox.deliver(written("I am away.", sender=ada, id=id, headers=headers))
    ends(server, id, "ignored")
    assert stored_of(server, id) == ("", "", None) and [ada] not in sink.to


@pytest.mark.parametrize(
    "subject", ["Automatic reply: The quay", "Abwesenheitsnotiz", "自動応答: 岸壁"]
)
def test_an_absence_note_is_told_by_its_subject_alone(
    subject: str, server: Server, mailbox: Dovecot, sink: SmtpSink, ada: str
) -> None:
    id = new_id()
    mailbox.deliver(written("I am away.", sender=ada, id=id, subject=subject))
    ends(server, id, "ignored")
    assert [ada] not in sink.to


@pytest.mark.parametrize("suppressed", ["OOF", "All", "DR, RN, NRN, OOF, AutoReply"])
def test_a_persons_mail_that_wants_no_automatic_answers_is_answered(
    suppressed: str, thread: Thread
) -> None:
    headers = {"X-Auto-Response-Suppress": suppressed, "Feedback-ID": "i1:Fastmail"}
    assert text_of(thread.say("Hello? [[text=Hello.]]", headers=headers)).startswith("Hello.")
    about = thread.say("And? [[text=Yes.]]", subject="Re: Automatic reply: The quay")
    assert text_of(about).startswith("Yes.")


def test_a_mail_without_a_subject_is_called_by_its_first_words(
    server: Server, thread: Thread
) -> None:
    thread.say("How long is the quay? [[text=40 m.]]", subject="")
    query = "SELECT title FROM conversations_conversation WHERE id = ?"
    ((title,),) = rows(server, query, UUID(thread_of(server, thread.ids[0])).hex)
    assert title == "How long is the quay? [[text=40 m.]]"


TABLE = (
    "| quay | m |\n|--|--|\n| north | ~~30~~ 40 |\n\n"
    "- a\n  - b\n\n> said\n\n![plan](https://evil.example/plan.png)"
)


def test_tables_lists_and_quotes_of_an_answer_are_formatted_and_nothing_is_loaded(
    fake: FakeOpenAI, thread: Thread
) -> None:
    fake.script.append(TABLE)
    mail = thread.say("Show me")
    html = mail.get_body(("html",))
    assert html is not None
    made = html.get_content().replace("\r\n", "\n")
    assert "<td>north</td>\n<td><s>30</s> 40</td>" in made
    assert "<ul>\n<li>a\n<ul>\n<li>b</li>" in made
    assert "<blockquote>\n<p>said</p>" in made
    assert "<img" not in made and '<a href="https://evil.example/plan.png">plan</a>' in made
    assert text_of(mail).startswith(TABLE)


def test_a_loop_of_robots_ends_after_the_hours_answers_of_its_thread(
    server: Server, fake: FakeOpenAI, mailbox: Dovecot, sink: SmtpSink, thread: Thread
) -> None:
    for number in range(HOURLY):
        thread.say(f"Robot {number} [[text=Answer {number}]]")
    over = new_id()
    mailbox.deliver(
        written("Robot again", sender=thread.sender, id=over, answers=id_of(thread.answers[-1]))
    )
    ends(server, over, "over")
    assert len(sink.wait_to(thread.sender)) == HOURLY
    assert thread_of(server, over) == thread_of(server, thread.ids[0])
    last = (
        "SELECT message.content, message.source FROM conversations_message message JOIN "
        "conversations_mail mail ON mail.id = message.id WHERE mail.message_id = ?"
    )
    assert rows(server, last, over) == [("Robot again", "email")]
    assert server.log.count(f"mail from {thread.sender} is not answered: its thread") == 1
    thread.say("Elsewhere [[text=Yes.]]", answers="", subject="Another thread")


def test_broken_mails_are_passed_over_and_the_next_one_is_answered(
    server: Server, mailbox: Dovecot, thread: Thread
) -> None:
    for data in BROKEN.values():
        mailbox.deliver(data)
    assert "Fine." in text_of(thread.say("Are you there? [[text=Fine.]]"))


def test_a_mail_above_10_mb_is_answered_with_a_sentence_to_a_verified_sender_alone(
    server: Server, mailbox: Dovecot, sink: SmtpSink, ada: str
) -> None:
    stranger = f"{secrets.token_hex(4)}@example.org"
    body = b"x" * 998 + b"\r\n"
    ids = {ada: new_id(), stranger: new_id()}
    for sender, id in ids.items():
        mailbox.deliver(written("Large", sender=sender, id=id) + body * (11 * 1024 * 1024 // 1000))
    ends(server, ids[stranger], "refused")
    (told,) = sink.wait_to(ada)
    assert "larger than 10 MB" in text_of(told) and [stranger] not in sink.to
    until(lambda: not mailbox.numbers("UNSEEN"))


@pytest.mark.parametrize("charset", ["idna", "punycode", "undefined", "\x00", "zlib"])
def test_a_strangers_odd_charset_stops_nobodys_mail(
    server: Server, mailbox: Dovecot, sink: SmtpSink, ada: str, charset: str
) -> None:
    head = f'From: eve@example.org\r\nContent-Type: text/plain; charset="{charset}"\r\n\r\n'
    mailbox.deliver(head.encode() + b"caf\xe9")
    mailbox.deliver(written("And mine? [[text=Yours too.]]", sender=ada))
    assert "Yours too." in text_of(sink.wait_to(ada)[-1])


def test_a_forged_mail_does_not_take_the_place_of_the_one_whose_id_it_bears(
    server: Server, mailbox: Dovecot, sink: SmtpSink, ada: str
) -> None:
    id = new_id()
    mailbox.deliver(written("Forged", sender=ada, id=id, checked="dmarc=fail"))
    mailbox.deliver(written("True [[text=Heard.]]", sender=ada, id=id))
    assert "Heard." in text_of(sink.wait_to(ada)[-1])


def test_a_large_mail_is_read_apart_with_its_files(
    server: Server, mailbox: Dovecot, sink: SmtpSink, ada: str
) -> None:
    notes = {"notes.txt": b"The quay is 40 m long.\n" * 20_000}
    mailbox.deliver(written("What is in it? [[text=A quay.]]", sender=ada, files=notes))
    assert "A quay." in text_of(sink.wait_to(ada)[-1])


# ---- what comes along ------------------------------------------------------------------------
def test_files_come_in_by_the_rules_for_files_and_those_refused_are_named(
    server: Server, fake: FakeOpenAI, thread: Thread
) -> None:
    files = {"survey.txt": b"The quay is 12 m long.", "tool.exe": b"MZ\x90\x00" + b"\x00" * 200}
    answer = text_of(thread.say("How long? [[text=12 m.]]", files=files))
    assert answer.startswith("tool.exe was not taken: ")
    assert "\n\n12 m.\n\n" in answer
    assert "The quay is 12 m long." in asked(fake, "How long?")[-1]
    stored = "SELECT name FROM conversations_upload WHERE conversation_id = ?"
    held_in = UUID(thread_of(server, thread.ids[0])).hex
    assert rows(server, stored, held_in) == [("survey.txt",)]
    assert not [path for path in (server.folder / "mail").glob("*/*") if path.is_file()]


def test_background_notes_come_along_once_and_scheduled_output_stays_out_otherwise(
    server: Server, fake: FakeOpenAI, thread: Thread
) -> None:
    thread.say("Hello [[text=Hi.]]")
    conversation = thread_of(server, thread.ids[0])
    server.manage(
        "add_message", conversation, "Backup of the harbour done.", "--source", "scheduled"
    )
    thread.say("What was that? [[text=A backup.]]")
    assert any("Backup of the harbour" in said for said in asked(fake, "What was that?"))
    thread.say("And now? [[text=Nothing.]]")
    assert not any("Backup of the harbour" in said for said in asked(fake, "And now?"))


def test_a_failed_answer_is_a_sentence(thread: Thread) -> None:
    text = text_of(thread.say("Hello [[mode=401]]"))
    assert "sk-" not in text and "\n\n> Hello" in text
    assert len(text.partition("\n\n")[0]) > 20


def test_a_mail_that_the_server_refuses_for_good_is_logged_and_not_tried_again(
    server: Server, mailbox: Dovecot, sink: SmtpSink, ada: str
) -> None:
    id = new_id()
    sink.replies.append("550 No such user")
    mailbox.deliver(written("Hello [[text=Hi.]]", sender=ada, id=id))
    ends(server, id, "undeliverable")
    assert f"the answer to {ada} isn't taken: the mail server answers 550" in server.log
    assert [ada] not in sink.to
