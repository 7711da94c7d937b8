"""Nothing of a stranger's becomes a header of our mails."""

from __future__ import annotations

from base64 import b64encode
from datetime import UTC, datetime
from email import message_from_bytes
from email.errors import MessageError
from email.header import Header
from email.message import EmailMessage
from email.policy import SMTP
from itertools import product
from urllib.parse import quote

import pytest

from chatsite.mail.incoming.reading import answered_ids, read_head, shortened_id
from chatsite.mail.models import Mail
from chatsite.mail.outgoing.replies import notice, verification
from chatsite.mail.outgoing.sending import are_ours, folds_safely

EVIL = "=?utf-8?b?" + b64encode(b"x\r\nContent-Type: text/html\r\n\r\n<a>").decode() + "?="
NOW = datetime(2026, 11, 25, tzinfo=UTC)


@pytest.mark.parametrize("id", [f"{EVIL}@e", "é@e", "a\r\nb@e", "a b@e", "a>b@e", ""])
def test_an_id_that_could_mean_something_in_a_header_is_known_by_its_hash(id: str) -> None:
    assert shortened_id(id).endswith("@long-message-id")
    assert shortened_id(shortened_id(id)) == shortened_id(id)


def test_an_ordinary_id_stays() -> None:
    assert shortened_id("CAF=x+1.2$3@mail.example.org") == "CAF=x+1.2$3@mail.example.org"


@pytest.mark.parametrize(
    "line", [b"X-Evil: 1", b"Content-Type: text/html", b"To: b@e", b"no name", b"\ta: b\rX: 1"]
)
def test_a_line_that_is_not_ours_is_seen_before_sending(line: bytes) -> None:
    made = verification("a@e.example", account="a", link="x", own="b@o.example", now=NOW)
    assert are_ours(made)
    assert not are_ours(made.replace(b"\r\n", b"\r\n" + line + b"\r\n", 1))


def test_a_mail_whose_headers_end_too_early_is_seen_before_sending() -> None:
    made = verification("a@e.example", account="a", link="x", own="b@o.example", now=NOW)
    assert not are_ours(made.replace(b"\r\nDate: ", b"\r\n\r\n<a>\r\nDate: "))


# What would be a header, or the beginning of a body, if it stood behind a line end.
PAYLOADS = [
    "x\r\nX-Evil: 1",
    "x\nX-Evil: 1",
    "x\rX-Evil: 1",
    "x\r\n\r\n<a>evil</a>",
    "x\x0b\x0c\x85\u2028X-Evil: 1\r\nBcc: eve@evil.example",
]


def q(text: str, charset: str = "utf-8") -> str:
    """An encoded word of which every character is written by its number."""
    return f"=?{charset}?q?" + "".join(f"={byte:02X}" for byte in text.encode()) + "?="


DISGUISES = [
    lambda text: text,
    q,
    lambda text: q(text, "us-ascii"),
    lambda text: q(text, "utf-8*en"),
    lambda text: f"=?utf-8?b?{b64encode(text.encode()).decode()}?=",
    lambda text: f"=?UTF-8?B?{b64encode(text.encode()).decode()}?=",
    lambda text: f"=?utf-7?q?{text.encode('utf-7').decode().replace('+', '=2B')}?=",
    lambda text: q(q(text)),
    lambda text: q(q(q(text))),
    lambda text: f"{q('a')} {q(text)} {q('b')}",
    lambda text: f"=?utf-8?q?a?{q(text)}?=",
    lambda text: Header(f"\u00e9{text}".replace("\r", "").replace("\n", ""), "utf-8").encode(),
    lambda text: quote(text),
]
PLACES = [
    lambda text: f"Message-ID: <{text}@e.example>",
    lambda text: f"Message-ID: <a@e.example> {text}\r\nReferences: <{text}@e.example> <b@e>",
    lambda text: f"In-Reply-To: <{text}>\r\nReferences: {f'<{text}@e> ' * 12}",
    lambda text: f"Subject: {text}",
    lambda text: f"Subject: Re: {text} {text}\r\nMessage-ID: <{text}>",
]
WRITTEN = [place(disguise(text)) for place, disguise, text in product(PLACES, DISGUISES, PAYLOADS)]
OURS = ["In-Reply-To", "References", "From", "To", "Subject", "Date", "Auto-Submitted"]
OURS += ["X-Auto-Response-Suppress", "Message-ID", "MIME-Version", "Content-Type"]


def answered(lines: str) -> bytes:
    """The mail that tells a sender something, and quotes the heading of their own."""
    head = read_head(f"{lines}\r\nFrom: eve@evil.example\r\n\r\n".encode())
    coming = Mail(
        message_id=head.id,
        sender=head.sender or "eve@evil.example",
        subject=head.subject,
        ids=answered_ids(head),
        chain=(*head.chain, *head.replied),
    )
    return notice(coming, "Too large.", own="agent@harbour.example", now=NOW).data


def test_no_disguise_of_a_line_end_gets_into_the_head_of_a_reply() -> None:
    """Here also on a Python whose email package writes decoded line ends as they are."""
    assert len(WRITTEN) >= 200
    for lines in WRITTEN:
        made = answered(lines)
        head = made.partition(b"\r\n\r\n")[0].decode("ascii").replace("\r\n ", " ")
        assert [line.partition(": ")[0] for line in head.split("\r\n")] == OURS, lines
        assert not set("\r\n\0") & set(head.replace("\r\n", "")), lines
        assert "evil</a>" not in made.partition(b"\r\n\r\n")[2].decode(), lines
        assert are_ours(made)


def test_whether_this_python_folds_safely_is_tried_rather_than_read_off_its_number() -> None:
    made = EmailMessage(policy=SMTP)
    made["X-Word"] = q("a\r\nX-Evil: 1")
    try:
        written = message_from_bytes(made.as_bytes()).keys()
    except MessageError:
        written = ["X-Word"]
    assert folds_safely() is (written == ["X-Word"])
