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
        {
            "MAIL_IMAP": imap,
            "MAIL_IMAP_PASSWORD": dovecot.PASSWORD,
            "MAIL_SMTP": smtp,
            "MAIL_ADDRESS": AGENT,
            "MAIL_AGENT": "demo",
            "MAIL_AUTHSERV_ID": AUTHSERV,
        },
        smtp_password=smtp_sink.PASSWORD,
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
