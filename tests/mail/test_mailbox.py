"""The mailbox on a real IMAP server: what is new, once and in order, and waiting for more."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest

from chatsite.channels.channel import Trouble
from chatsite.mail.account import MailAccount
from chatsite.mail.mailbox import OpenMailbox
from tests.fakes.dovecot import Dovecot
from tests.fakes.mailing import until
from tests.mail.conftest import account_at

pytestmark = pytest.mark.slow

MAIL = b"From: ada@example.org\r\n\r\nHello"


@pytest.fixture
def box(account: MailAccount) -> Iterator[OpenMailbox]:
    box = OpenMailbox(account)
    box.open()
    yield box
    box.close()


def test_first_what_nobody_has_seen_then_what_is_behind_the_last_place(
    box: OpenMailbox, mailbox: Dovecot
) -> None:
    for _ in range(3):
        mailbox.deliver(MAIL)
    until(lambda: len(mailbox.numbers()) == 3)
    box.ask()
    box.mark_seen(2)
    assert box.new(None) == {1: len(MAIL), 3: len(MAIL)}
    assert box.validity() and box.new(1) == {2: len(MAIL), 3: len(MAIL)}
    assert box.new(3) == {}
    assert mailbox.numbers("SEEN") == [2]


def test_reading_marks_nothing_and_deletes_nothing(box: OpenMailbox, mailbox: Dovecot) -> None:
    mailbox.deliver(MAIL)
    until(lambda: mailbox.numbers() == [1])
    box.ask()
    assert box.fetch(1) == MAIL
    assert box.fetch_head(1) == b"From: ada@example.org\r\n\r\n"
    assert box.fetch(99) is None
    assert mailbox.numbers("UNSEEN") == [1]


def test_waiting_ends_when_a_mail_comes(box: OpenMailbox, mailbox: Dovecot) -> None:
    assert box.tells
    with ThreadPoolExecutor(1) as pool:
        began = time.monotonic()
        waiting = pool.submit(box.wait, 20)
        mailbox.deliver(MAIL)
        waiting.result(20)
        assert time.monotonic() - began < 15
    assert list(box.new(None)) == [1]


def test_what_was_told_with_another_command_is_not_waited_for(
    box: OpenMailbox, mailbox: Dovecot
) -> None:
    """The server says so once; then it would be silent until the next mail."""
    box.new(None)
    mailbox.deliver(MAIL)
    until(lambda: len(mailbox.numbers()) == 1)
    box.ask()
    began = time.monotonic()
    box.wait(60)
    assert time.monotonic() - began < 20
    assert list(box.new(None)) == [1]


def test_waiting_is_interrupted_from_another_thread(box: OpenMailbox) -> None:
    began = threading.Event()
    with ThreadPoolExecutor(1) as pool:

        def wait() -> None:
            began.set()
            box.wait(20)

        waiting = pool.submit(wait)
        assert began.wait(20)
        box.interrupt()
        with pytest.raises(Trouble, match="can't be reached|was closed"):
            waiting.result(10)


def test_a_server_that_goes_away_is_trouble(box: OpenMailbox, mailbox: Dovecot) -> None:
    with ThreadPoolExecutor(1) as pool:
        waiting = pool.submit(box.wait, 20)
        mailbox.stop()
        with pytest.raises(Trouble):
            waiting.result(20)
    with pytest.raises(Trouble):
        box.new(None)


def test_a_thousand_mails_are_found_in_order(box: OpenMailbox, mailbox: Dovecot) -> None:
    for _ in range(1_000):
        mailbox.deliver(MAIL)
    until(lambda: len(mailbox.numbers()) == 1_000)
    box.ask()
    assert list(box.new(None)) == list(range(1, 1_001))


def test_a_server_without_idle_is_told() -> None:
    with Dovecot(idle=False) as server:
        box = OpenMailbox(account_at(server.url, "smtp://agent@127.0.0.1:1025"))
        box.open()
        try:
            assert not box.tells
            server.deliver(MAIL)
            until(lambda: server.numbers() == [1])
            box.ask()
            assert list(box.new(None)) == [1]
        finally:
            box.close()
