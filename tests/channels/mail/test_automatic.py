"""Mail of programs never gets an answer; mail of people does."""

from __future__ import annotations

import pytest

from chatsite.channels.mail.incoming.automatic import why_automatic
from chatsite.channels.mail.incoming.reading import read_head

OWN = "agent@harbour.example"


def why(*headers: str, sender: str = "ada@example.org") -> str:
    lines = "\r\n".join([f"From: {sender}", *headers])
    return why_automatic(read_head(f"{lines}\r\n\r\nHello".encode()), own=OWN)


@pytest.mark.parametrize(
    "header",
    [
        "Auto-Submitted: auto-replied",
        "Auto-Submitted: Auto-Generated; owner-email=a@b.org",
        "Precedence: bulk",
        "Precedence: List",
        "Precedence: junk",
        "List-Id: <harbour.example.org>",
        "List-Unsubscribe: <https://example.org/>",
        "Return-Path: <>",
        "Content-Type: multipart/report; report-type=delivery-status; boundary=b",
        "X-Auto-Response-Suppress: All",
        "X-Autoreply: yes",
    ],
)
def test_automatic_mail_is_told_by_its_headers(header: str) -> None:
    assert why(header)


@pytest.mark.parametrize(
    "sender",
    [
        "MAILER-DAEMON@example.org",
        "noreply@example.org",
        "no-reply+x@example.org",
        "do-not-reply@example.org",
        "bounces-7@example.org",
        OWN,
        "Agent@Harbour.example",
    ],
)
def test_automatic_mail_is_told_by_its_sender(sender: str) -> None:
    assert why(sender=sender)


@pytest.mark.parametrize(
    "header",
    [
        "Auto-Submitted: no",
        "Precedence: first-class",
        "Return-Path: <ada@example.org>",
        "X-Auto-Response-Suppress: none",
        "Subject: Re: List-Id",
    ],
)
def test_a_persons_mail_is_not(header: str) -> None:
    assert why(header) == ""
    assert why(sender="norephly@example.org") == ""
