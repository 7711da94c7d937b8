"""People who write mails to a server under test, and what it needs for its channel "mail"."""

from __future__ import annotations

import sqlite3
import time
import uuid
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing, contextmanager
from email.message import EmailMessage
from email.policy import SMTP
from pathlib import Path
from typing import Any

from tests.fakes import dovecot, smtp_sink
from tests.fakes.dovecot import Dovecot
from tests.fakes.smtp_sink import SmtpSink
from tests.running import Server

AGENT = "agent@harbour.example"
AUTHSERV = "mx.harbour.example"
SITE = "https://chat.harbour.example"
SECONDS = 30.0


def mail_environment(mailbox: Dovecot, sink: SmtpSink, **more: str) -> dict[str, str]:
    return {
        "MAIL_IMAP": mailbox.url,
        "MAIL_IMAP_PASSWORD": dovecot.PASSWORD,
        "MAIL_SMTP": sink.url,
        "MAIL_SMTP_PASSWORD": smtp_sink.PASSWORD,
        "MAIL_ADDRESS": AGENT,
        "MAIL_AGENT": "demo",
        "MAIL_AUTHSERV_ID": AUTHSERV,
        "SITE_URL": SITE,
        **more,
    }


def written(
    text: str = "How long is the quay?",
    *,
    sender: str = "ada@example.org",
    subject: str = "The quay",
    id: str = "",
    answers: str = "",
    checked: str | None = None,
    headers: Mapping[str, str] | None = None,
    files: Mapping[str, bytes] | None = None,
) -> bytes:
    """A mail as our mail server delivers it; `checked` is what that found out, by default a pass
    of DMARC. `answers` is the Message-ID of the mail that it answers."""
    made = EmailMessage(policy=SMTP)
    domain = sender.rpartition("@")[2].rstrip(">")
    checked = f"dmarc=pass header.from={domain}" if checked is None else checked
    if checked:
        made["Authentication-Results"] = f"{AUTHSERV}; {checked}"
    made["From"] = sender
    made["To"] = AGENT
    made["Subject"] = subject
    made["Message-ID"] = f"<{id or f'{uuid.uuid4().hex}@example.org'}>"
    if answers:
        made["In-Reply-To"] = made["References"] = f"<{answers}>"
    for name, value in (headers or {}).items():
        made[name] = value
    made.set_content(text)
    for name, data in (files or {}).items():
        made.add_attachment(data, maintype="application", subtype="octet-stream", filename=name)
    return made.as_bytes()


def id_of(mail: EmailMessage) -> str:
    return str(mail["Message-ID"]).strip("<>")


def rows(server: Server, sql: str, *values: Any) -> list[tuple[Any, ...]]:
    with closing(sqlite3.connect(server.folder / "chatsite.sqlite3", timeout=20)) as database:
        return database.execute(sql, values).fetchall()


def states(server: Server) -> list[str]:
    """What became of the mails so far, in their order."""
    return [
        state for (state,) in rows(server, "SELECT state FROM conversations_mail ORDER BY received")
    ]


def until(condition: Callable[[], object], *, seconds: float = SECONDS) -> None:
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, "it didn't become so in time"
        time.sleep(0.05)


def state_of(server: Server, id: str) -> str:
    """What became of the mail with this Message-ID; "" as long as it isn't stored."""
    found = rows(server, "SELECT state FROM conversations_mail WHERE message_id = ?", id)
    return str(found[0][0]) if found else ""


def add_account(server: Server, name: str) -> str:
    """An account nobody can sign in to, with a verified address, which is returned."""
    with closing(sqlite3.connect(server.folder / "chatsite.sqlite3", timeout=20)) as database:
        database.execute(
            "INSERT INTO auth_user (username, password, is_superuser, is_staff, is_active, email, "
            "first_name, last_name, date_joined) "
            "VALUES (?, '!', 0, 0, 1, '', '', '', '2026-11-25 00:00:00')",
            (name,),
        )
        database.commit()
    return verify(server, name)


def verify(server: Server, name: str) -> str:
    """Give an account a verified address, past the mailed link."""
    address = f"{name}@example.org"
    with closing(sqlite3.connect(server.folder / "chatsite.sqlite3", timeout=20)) as database:
        database.execute(
            "INSERT INTO conversations_mailaddress (user_id, address, created, verified) "
            "SELECT id, ?, '2026-11-25 00:00:00', '2026-11-25 00:00:00' FROM auth_user "
            "WHERE username = ?",
            (address, name),
        )
        database.commit()
    return address


@contextmanager
def mail_server(folder: Path, environment: Mapping[str, Any]) -> Iterator[Server]:
    """The application in this folder until the block ends; it is ended with `end`."""
    server = Server(folder, **environment).start()
    try:
        yield server
    finally:
        end(server)


def end(server: Server) -> None:
    """Stop it, however the test ended. Its log may hold no traceback and no password."""
    if server.process is not None and server.process.poll() is None:
        server.stop()
    assert "Traceback" not in server.log, server.log
    assert "Warning" not in server.log, server.log
    assert dovecot.PASSWORD not in server.log and smtp_sink.PASSWORD not in server.log
