"""`manage.py mail_check` on a real mailbox and a real mail server."""

from __future__ import annotations

import io
from dataclasses import replace
from typing import Any

import pytest
from django.core.management import CommandError, call_command

from chatsite.mail.account import MailAccount
from tests.fakes.dovecot import PASSWORD as IMAP_PASSWORD
from tests.fakes.dovecot import Dovecot
from tests.fakes.smtp_sink import PASSWORD as SMTP_PASSWORD
from tests.fakes.smtp_sink import SmtpSink
from tests.running import free_port

pytestmark = pytest.mark.slow


def check(settings: Any, account: MailAccount | None, *arguments: str) -> tuple[bool, str]:
    settings.MAIL = account
    out = io.StringIO()
    try:
        call_command("mail_check", *arguments, stdout=out)
    except CommandError as error:
        return False, f"{out.getvalue()}{error}"
    return True, out.getvalue()


def test_it_says_what_works_and_sends_nothing(
    settings: Any, account: MailAccount, mailbox: Dovecot, sink: SmtpSink
) -> None:
    mailbox.deliver(b"From: ada@example.org\r\n\r\nHello")
    works, said = check(settings, account)
    assert works, said
    lines = [line for line in said.splitlines() if "CVE-" not in line]
    assert [line.partition(":")[0] for line in lines] == ["works", "beware", "works", "works"]
    assert "none of the newest 1 mails has an Authentication-Results header" in said
    assert f"INBOX at 127.0.0.1:{mailbox.port}" in said and "(IDLE)" in said
    assert sink.raw == [] and mailbox.numbers("UNSEEN") == [1]


def test_it_says_where_two_headers_bear_the_name_of_our_server(
    settings: Any, account: MailAccount, mailbox: Dovecot
) -> None:
    verdict = f"Authentication-Results: {account.authserv_id}; dmarc=none\r\n".encode()
    mailbox.deliver(verdict * 2 + b"From: ada@example.org\r\n\r\nHello")
    mailbox.deliver(verdict + b"From: ada@example.org\r\n\r\nHello")
    works, said = check(settings, account)
    assert works and "beware: 1 of the newest 2 mails have two or more headers" in said


def test_with_send_a_mail_is_sent(settings: Any, account: MailAccount, sink: SmtpSink) -> None:
    works, said = check(settings, account, "--send", "grace@example.org")
    assert works and "a mail to grace@example.org was taken" in said
    assert sink.to == [["grace@example.org"]]


def test_everything_that_is_wrong_is_said_plainly(
    settings: Any, account: MailAccount, mailbox: Dovecot, sink: SmtpSink
) -> None:
    mailbox.set_password("another-one-1843")
    sink.password = "another-one-1852"
    works, said = check(settings, replace(account, agent="nobody"))
    assert not works
    assert "there is no agent 'nobody' that works (MAIL_AGENT)" in said
    assert f"the mailbox at 127.0.0.1:{mailbox.port} refuses the password of agent" in said
    assert f"the mail server 127.0.0.1:{sink.port} refuses the password of agent" in said
    assert IMAP_PASSWORD not in said and SMTP_PASSWORD not in said


def test_a_server_that_is_away_a_missing_folder_and_missing_tls_are_told_apart(
    settings: Any, account: MailAccount, mailbox: Dovecot
) -> None:
    away = replace(account, imap=replace(account.imap, port=free_port()))
    assert "can't be reached (ConnectionRefusedError)" in check(settings, away)[1]
    _, said = check(settings, replace(account, folder="Questions"))
    assert f"the mailbox at 127.0.0.1:{mailbox.port} has no folder 'Questions'" in said
    tls = replace(
        account,
        imap=replace(account.imap, security="tls"),
        smtp=replace(account.smtp, security="tls"),
    )
    assert check(settings, tls)[1].count("can't be reached over TLS") == 2
    started = replace(account, smtp=replace(account.smtp, security="starttls"))
    assert "offers no STARTTLS" in check(settings, started)[1]


def test_without_settings_it_says_that_mail_is_off(settings: Any) -> None:
    assert check(settings, None) == (
        False,
        "Mail is off: MAIL_IMAP and the other variables aren't set.",
    )
