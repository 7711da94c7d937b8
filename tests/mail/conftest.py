from __future__ import annotations

from collections.abc import Iterator

import pytest

from chatsite.mail.account import MailAccount, read_mail_account
from tests.fakes import dovecot, smtp_sink
from tests.fakes.dovecot import Dovecot
from tests.fakes.mailing import AGENT, AUTHSERV, SITE
from tests.fakes.smtp_sink import SmtpSink


@pytest.fixture
def mailbox() -> Iterator[Dovecot]:
    with Dovecot() as running:
        yield running


@pytest.fixture
def sink() -> Iterator[SmtpSink]:
    with SmtpSink() as running:
        yield running


def account_at(imap: str, smtp: str) -> MailAccount:
    found = read_mail_account(
        imap=imap,
        imap_password=dovecot.PASSWORD,
        smtp=smtp,
        smtp_password=smtp_sink.PASSWORD,
        address=AGENT,
        agent="demo",
        authserv_id=AUTHSERV,
        strangers="refuse",
        hourly=10,
        most_mb=10,
        folder="INBOX",
        site=SITE,
    )
    assert found is not None
    return found


@pytest.fixture
def account(mailbox: Dovecot, sink: SmtpSink) -> MailAccount:
    return account_at(mailbox.url, sink.url)
