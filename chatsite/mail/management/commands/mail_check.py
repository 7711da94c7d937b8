"""`manage.py mail_check`: whether the mail account of the environment works."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from email.message import EmailMessage
from email.policy import SMTP
from email.utils import format_datetime, make_msgid
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError, CommandParser

from chatsite.agents.catalogue import Catalogue
from chatsite.channels.channel import Trouble
from chatsite.errors import NotFound
from chatsite.mail.account import MailAccount
from chatsite.mail.incoming.authentication import own_results
from chatsite.mail.incoming.reading import MailHead, read_head
from chatsite.mail.mailbox import POLL_SECONDS, OpenMailbox
from chatsite.mail.outgoing.sending import (
    UNSAFE_PYTHON,
    Undeliverable,
    connected,
    folds_safely,
    send,
)

# Mails of the last days that nobody has seen; looking at them leaves them so.
NEWEST = 20


class Command(BaseCommand):
    help = "Sign in to the mailbox and the mail server; say what works and what is wrong."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--send", metavar="ADDRESS", help="send a mail to this address, too")

    def handle(self, *args: Any, **options: Any) -> None:
        account = settings.MAIL
        if account is None:
            raise CommandError("Mail is off: MAIL_IMAP and the other variables aren't set.")
        checks: list[Callable[[], str]] = [
            lambda: _agent(account),
            lambda: self._mailbox(account),
            lambda: asyncio.run(_sign_in(account)),
        ]
        if to := options["send"]:
            checks.append(lambda: asyncio.run(_sent(account, to)))
        if not folds_safely():
            self.stdout.write(f"beware: {UNSAFE_PYTHON}")
        working = [self._works(check) for check in checks]
        if not all(working):
            raise CommandError("Mail doesn't work yet.")

    def _works(self, check: Callable[[], str]) -> bool:
        try:
            self.stdout.write(f"works: {check()}")
        except (Trouble, Undeliverable) as error:
            self.stdout.write(f"wrong: {error.message}")
            return False
        return True

    def _mailbox(self, account: MailAccount) -> str:
        box = OpenMailbox(account)
        try:
            box.open()
            newest = [box.fetch_head(number) for number in list(box.new(None))[-NEWEST:]]
            told = "says what is new (IDLE)" if box.tells else f"is asked every {POLL_SECONDS:g} s"
        finally:
            box.close()
        for doubt in _doubts(account, [read_head(head) for head in newest if head]):
            self.stdout.write(f"beware: {doubt}")
        server = account.imap
        return f"the mailbox {account.folder} at {server.host}:{server.port}; its server {told}"


def _agent(account: MailAccount) -> str:
    try:
        Catalogue(settings.AGENTS_DIR).get(account.agent)
    except NotFound:
        raise Trouble(f"there is no agent {account.agent!r} that works (MAIL_AGENT)") from None
    return f"the agent {account.agent}"


def _doubts(account: MailAccount, heads: list[MailHead]) -> Iterator[str]:
    """What in the newest mails speaks against MAIL_AUTHSERV_ID or the server behind it."""
    name = account.authserv_id
    own = [len(own_results(head, name)) for head in heads]
    if own and not any(own):
        yield (
            f"none of the newest {len(own)} mails has an Authentication-Results header of "
            f"{name!r} (MAIL_AUTHSERV_ID), so no sender is believed"
        )
    if several := sum(count > 1 for count in own):
        yield (
            f"{several} of the newest {len(own)} mails have two or more headers of {name!r}: the "
            "mail server has to take out those that a sender wrote; the topmost is believed"
        )


async def _sign_in(account: MailAccount) -> str:
    async with connected(account.smtp):
        server = account.smtp
        what = "the sign-in to" if server.user else "without a sign-in,"
        return f"{what} the mail server {server.host}:{server.port}"


async def _sent(account: MailAccount, to: str) -> str:
    mail = EmailMessage(policy=SMTP)
    mail["From"], mail["To"], mail["Subject"] = account.address, to, "A mail of Chatsite"
    mail["Date"] = format_datetime(datetime.now(UTC))
    mail["Message-ID"] = make_msgid(domain=account.domain)
    mail["Auto-Submitted"] = "auto-generated"
    mail.set_content("manage.py mail_check sent this mail.")
    await send(account.smtp, mail.as_bytes(), sender=account.address, to=to)
    return f"a mail to {to} was taken by the mail server"
