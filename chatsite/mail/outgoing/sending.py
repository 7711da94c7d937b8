"""Sends mails over SMTP."""

from __future__ import annotations

import re
import ssl
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from email.errors import MessageError
from email.message import EmailMessage
from email.policy import SMTP

import aiosmtplib

from chatsite.channels.channel import Trouble
from chatsite.mail.account import MailServer

SECONDS = 30.0
# Before the next try somebody has to change something.
PASSWORD_SECONDS = 300.0
# The server asks to come again later.
LATER_SECONDS = 60.0

OUR_HEADERS = frozenset(
    (
        *("from", "to", "subject", "date", "message-id", "in-reply-to", "references"),
        *("auto-submitted", "x-auto-response-suppress"),
        *("mime-version", "content-type", "content-transfer-encoding"),
    )
)
OUR_TYPES = (b'text/plain; charset="utf-8"', b"multipart/alternative; ")


class Undeliverable(Exception):
    """The server refuses this mail for good. `message` is for the log, and has none of the text."""

    def __init__(self, message: str) -> None:
        super().__init__(message)
        self.message = message


async def send(server: MailServer, data: bytes, *, sender: str, to: str) -> None:
    """Sends a mail. Raises Undeliverable, or Trouble if a later try may work."""
    if not are_ours(data):
        raise Undeliverable("its headers aren't the ones that Chatsite writes")
    async with connected(server) as client:
        options = () if to.isascii() and sender.isascii() else ("SMTPUTF8", "BODY=8BITMIME")
        try:
            await client.sendmail(sender, [to], data, mail_options=options)
        except aiosmtplib.SMTPRecipientsRefused as error:
            _raise_refusal([one.code for one in error.recipients])
        except aiosmtplib.SMTPResponseException as error:
            _raise_refusal([error.code])
        except aiosmtplib.SMTPNotSupported:
            raise Undeliverable("the server takes no address with such letters") from None


def are_ours(data: bytes) -> bool:
    """Tells whether a finished mail has only headers that we write, each once. This is the last
    look at what a stranger's text made of them, also in mails that an earlier version made."""
    head, between, _body = data.partition(b"\r\n\r\n")
    lines = re.sub(rb"\r\n(?=[ \t]+[^ \t\r\n])", b"", head).split(b"\r\n")
    if not between or any(mark in line for line in lines for mark in (b"\r", b"\n", b"\0")):
        return False
    found = [line.partition(b": ") for line in lines]
    names = [name.decode("ascii", "replace").lower() for name, _, _ in found]
    kinds = [value for name, _, value in found if name.lower() == b"content-type"]
    return (
        len(set(names)) == len(names)
        and OUR_HEADERS.issuperset(names)
        and len(kinds) == 1
        and kinds[0].startswith(OUR_TYPES)
    )


def folds_safely() -> bool:
    """Tells whether this Python keeps the line ends of an encoded word out of the headers. Before
    3.11.10 and 3.12.5 Python writes them (CVE-2024-6923), unless a distribution mended that: so the
    version doesn't tell. Chatsite sends no such words anyway."""
    made = EmailMessage(policy=SMTP)
    made["References"] = "<=?utf-8?b?eA0KWDogMQ==?=@example.org>"  # x, a line end, "X: 1"
    try:
        return b"\r\nX: 1" not in made.as_bytes()
    except MessageError:
        return True


UNSAFE_PYTHON = (
    "this Python's email package has a known weakness (CVE-2024-6923); Chatsite keeps what could "
    "use it out of its mails, but a newer Python is safer: 3.11.10, 3.12.5 or later"
)


@asynccontextmanager
async def connected(server: MailServer) -> AsyncIterator[aiosmtplib.SMTP]:
    """Opens a connection, and signs in if the account has a user. Raises Trouble, also if the
    connection breaks in the block."""
    client = aiosmtplib.SMTP(
        hostname=server.host,
        port=server.port,
        use_tls=server.security == "tls",
        # A server on this machine may have no TLS; no other may.
        start_tls=server.security == "starttls",
        timeout=SECONDS,
    )
    try:
        await client.connect()
        if server.user:
            await _sign_in(client, server)
        yield client
    except aiosmtplib.SMTPAuthenticationError as error:
        if error.code < 500:
            raise _trouble(server, f"answers {error.code} to the sign-in") from None
        raise _trouble(server, f"refuses the password of {server.user}", PASSWORD_SECONDS) from None
    except (TimeoutError, aiosmtplib.SMTPException, OSError) as error:
        raise _trouble(server, _describe(error)) from None
    finally:
        client.close()


async def _sign_in(client: aiosmtplib.SMTP, server: MailServer) -> None:
    try:
        await client.login(server.user, server.password)
    except aiosmtplib.SMTPResponseException:
        raise
    except aiosmtplib.SMTPException as error:
        if not isinstance(error, aiosmtplib.SMTPNotSupported) and type(error) is not (
            aiosmtplib.SMTPException
        ):
            raise
        what = f"offers no sign-in that {server.user} could use"
        if server.security == "plain":
            what += "; a server on this machine may be named without a user"
        raise _trouble(server, what, PASSWORD_SECONDS) from None


def _raise_refusal(codes: list[int]) -> None:
    if codes and all(code >= 500 for code in codes):
        raise Undeliverable(f"the mail server answers {codes[0]}")
    raise Trouble(
        f"the mail server answers {codes[0] if codes else 'nothing'}; the mail is sent later",
        seconds=LATER_SECONDS,
    )


def _trouble(server: MailServer, what: str, seconds: float = 0.0) -> Trouble:
    return Trouble(f"the mail server {server.host}:{server.port} {what}", seconds=seconds)


def _describe(error: Exception) -> str:
    """Says what went wrong, without the server's own text, which may repeat the mail."""
    if isinstance(error, aiosmtplib.SMTPResponseException):
        return f"answers {error.code}"
    if isinstance(error, ssl.SSLError) or isinstance(error.__cause__, ssl.SSLError):
        return "can't be reached over TLS: its certificate isn't one for this name, or it has none"
    if isinstance(error, aiosmtplib.SMTPNotSupported) or type(error) is aiosmtplib.SMTPException:
        return "offers no STARTTLS; smtps:// may be what it offers"
    return f"can't be reached ({type(error).__name__})"
