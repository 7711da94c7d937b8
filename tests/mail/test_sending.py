"""A mail is sent, refused for good, or to be sent later."""

from __future__ import annotations

from dataclasses import replace

import pytest

from chatsite.channels.channel import Trouble
from chatsite.errors import BadSetting
from chatsite.mail.account import MailAccount
from chatsite.mail.outgoing.sending import LATER_SECONDS, Undeliverable, send
from tests.fakes.smtp_sink import PASSWORD, SmtpSink
from tests.mail.conftest import account_at

DATA = (
    b"From: agent@harbour.example\r\nTo: ada@example.org\r\n"
    b'Content-Type: text/plain; charset="utf-8"\r\n\r\nHello\r\n'
)


async def sent(account: MailAccount) -> None:
    await send(account.smtp, DATA, sender=account.address, to="ada@example.org")


async def test_a_mail_arrives_as_it_was_made(account: MailAccount, sink: SmtpSink) -> None:
    await sent(account)
    assert sink.raw == [DATA] and sink.to == [["ada@example.org"]]


@pytest.mark.parametrize("reply", ["550 No such user", "554 Refused"])
async def test_5xx_is_for_good(reply: str, account: MailAccount, sink: SmtpSink) -> None:
    sink.replies.append(reply)
    with pytest.raises(Undeliverable, match=f"the mail server answers {reply[:3]}"):
        await sent(account)


@pytest.mark.parametrize("reply", ["451 Later", "421 Closing"])
async def test_4xx_is_later(reply: str, account: MailAccount, sink: SmtpSink) -> None:
    sink.replies.append(reply)
    with pytest.raises(Trouble) as trouble:
        await sent(account)
    assert trouble.value.seconds in (0.0, LATER_SECONDS)
    await sent(account)


async def test_a_wrong_password_is_no_fault_of_the_mail(
    account: MailAccount, sink: SmtpSink
) -> None:
    sink.password = "another-one-1852"
    with pytest.raises(Trouble, match="refuses the password of agent") as trouble:
        await sent(account)
    assert trouble.value.seconds >= 60 and PASSWORD not in str(trouble.value)


async def test_a_server_that_is_away_is_later(account: MailAccount, sink: SmtpSink) -> None:
    sink.stop()
    try:
        with pytest.raises(Trouble, match="can't be reached"):
            await sent(account)
    finally:
        sink.start()


async def test_a_server_on_this_machine_is_used_without_a_sign_in() -> None:
    with SmtpSink(signs_in=False) as sink:
        smtp = account_at("imaps://agent@mail.example.org", sink.url).smtp
        assert (smtp.user, smtp.password, smtp.security) == ("", "", "plain")
        await send(smtp, DATA, sender="agent@harbour.example", to="ada@example.org")
        assert sink.raw == [DATA]


async def test_a_server_that_offers_no_sign_in_is_told_in_words() -> None:
    with SmtpSink(signs_in=False) as sink:
        url = sink.url.replace("smtp://", "smtp://agent@")
        smtp = account_at("imaps://agent@mail.example.org", url).smtp
        with pytest.raises(Trouble) as trouble:
            await send(smtp, DATA, sender="agent@harbour.example", to="ada@example.org")
        assert trouble.value.message == (
            f"the mail server 127.0.0.1:{sink.port} offers no sign-in that agent could use; a "
            "server on this machine may be named without a user"
        )
        assert sink.raw == []


@pytest.mark.parametrize(
    "url", ["smtp://mail.example.org", "smtps://mail.example.org", "smtp://192.0.2.7:25"]
)
def test_no_server_elsewhere_is_used_without_a_sign_in(url: str) -> None:
    with pytest.raises(BadSetting) as error:
        account_at("imaps://agent@mail.example.org", url)
    assert str(error.value) == (
        "MAIL_SMTP names no user. Only a server on this machine is used without a sign-in "
        "(smtp://localhost:25); any other one needs smtps://user@host."
    )


@pytest.mark.parametrize(
    ("url", "port"),
    [("smtp://localhost", 25), ("smtp://[::1]:2525", 2525), ("smtp://127.0.0.1", 25)],
)
def test_this_machines_server_listens_on_its_own_port(url: str, port: int) -> None:
    assert account_at("imaps://agent@mail.example.org", url).smtp.port == port


async def test_encryption_is_never_left_out_where_it_is_asked_for(
    account: MailAccount, sink: SmtpSink
) -> None:
    for security in ("starttls", "tls"):
        server = replace(account.smtp, security=security)
        with pytest.raises(Trouble):
            await send(server, DATA, sender=account.address, to="ada@example.org")
    assert sink.raw == []
