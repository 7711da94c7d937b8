"""Ordinary mails with files, as the programs that people use write them, are read unchanged."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Callable
from email.header import Header
from email.message import EmailMessage
from email.policy import SMTP
from itertools import product
from urllib.parse import quote

import pytest

from tests.mail.broken_mails import read_mail

TEXT = "Here is the survey of the quay.\n\nBest wishes\nAda"
PDF = b"%PDF-1.7\n" + bytes(range(256)) * 40
NAMES = ["survey.pdf", "Gezeiten für März.pdf", "測量 2026.pdf", 'a "quoted" name.pdf', "x" * 120]
# How a name is written: as RFC 2231 has it, as an encoded word (Outlook), in the type alone.
WAYS: dict[str, Callable[[str], str]] = {
    "rfc2231": lambda name: f"Content-Disposition: attachment; filename*=UTF-8''{quote(name)}",
    "word": lambda name: f'Content-Disposition: attachment; filename="{_word(name)}"',
    "type": lambda name: "Content-Disposition: attachment",
}
BODIES = {
    "plain": "Content-Type: text/plain; charset=utf-8\r\n\r\n" + TEXT.replace("\n", "\r\n"),
    "html": "Content-Type: text/html; charset=utf-8\r\n\r\n<html><body><p>Here is the survey of "
    "the quay.</p><p>Best wishes<br>Ada</p></body></html>",
}


def _word(name: str) -> str:
    return Header(name, "utf-8").encode(linesep="\r\n")


def _written(name: str, way: str, body: str) -> bytes:
    kind = f"Content-Type: application/pdf; name*=utf-8''{quote(name)}"
    lines = [
        "From: Ada <ada@example.org>",
        "Subject: The survey",
        'Content-Type: multipart/mixed; boundary="=_b_1"',
        "",
        "This is a message in several parts.",
        "--=_b_1",
        BODIES[body],
        "--=_b_1",
        kind if way == "type" else "Content-Type: application/pdf",
        WAYS[way](name),
        "Content-Transfer-Encoding: base64",
        "",
        *(b64encode(PDF)[at : at + 76].decode() for at in range(0, len(b64encode(PDF)), 76)),
        "--=_b_1--",
        "",
    ]
    return "\r\n".join(lines).encode()


@pytest.mark.parametrize(("name", "way", "body"), list(product(NAMES, WAYS, BODIES)))
def test_a_mail_with_a_file_is_read_with_its_name_and_every_byte(
    name: str, way: str, body: str
) -> None:
    mail = read_mail(_written(name, way, body))
    assert mail.text.split() == TEXT.split()
    assert [(file.name, file.data) for file in mail.files] == [(name, PDF)]


@pytest.mark.parametrize("count", [1, 3, 10])
def test_so_are_several_files_beside_both_forms_of_a_text(count: int) -> None:
    made = EmailMessage(policy=SMTP)
    made["From"] = "ada@example.org"
    made.set_content(TEXT)
    made.add_alternative(f"<p>{TEXT}</p>", subtype="html")
    for number in range(count):
        made.add_attachment(PDF, maintype="image", subtype="png", filename=f"{number}.png")
    mail = read_mail(made.as_bytes())
    assert mail.text.split() == TEXT.split()
    assert [file.name for file in mail.files] == [f"{number}.png" for number in range(count)]
