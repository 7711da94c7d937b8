"""Mails whose bytes are broken in every way that was thought of."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from chatsite.mail.incoming.contents import AttachedFile, read_contents
from chatsite.mail.incoming.reading import MailHead, read_head

MULTIPART = (
    b"From: ada@example.org\r\nMessage-ID: <1@example.org>\r\nSubject: The quay\r\n"
    b"MIME-Version: 1.0\r\nContent-Type: multipart/mixed; boundary=b\r\n\r\n"
    b"--b\r\nContent-Type: text/plain; charset=utf-8\r\n\r\nHow long?\r\n"
    b"--b\r\nContent-Type: text/plain; name=notes.txt\r\nContent-Disposition: attachment;"
    b" filename=notes.txt\r\nContent-Transfer-Encoding: base64\r\n\r\nNDAgbQ==\r\n--b--\r\n"
)

BROKEN = {
    "empty": b"",
    "no headers": b"\r\n\r\nbody",
    "no end of headers": b"From: a@example.org",
    "boundary missing": MULTIPART.replace(b"; boundary=b", b""),
    "boundary never ends": MULTIPART.replace(b"--b--", b""),
    "empty boundary": MULTIPART.replace(b"boundary=b", b'boundary=""'),
    "unknown charset": MULTIPART.replace(b"utf-8", b"x-none-such"),
    "wrong charset": MULTIPART.replace(b"How long?", b"\xff\xfe\x00"),
    "bad base64": MULTIPART.replace(b"NDAgbQ==", b"***N"),
    "unknown encoding": MULTIPART.replace(b"base64", b"x-none-such"),
    "uuencode": MULTIPART.replace(b"base64", b"x-uuencode"),
    "bad filename": MULTIPART.replace(
        b"filename=notes.txt", b"filename*0*=utf-8''%ff; filename*9*=x"
    ),
    "bad type": MULTIPART.replace(b"text/plain; charset=utf-8", b"/;=;"),
    "bad date": MULTIPART.replace(b"Subject:", b"Date: Tue, 99 Foo 9999 99:99\r\nSubject:"),
    "huge date": b"Date: Mon, 1 Jan 0001 00:00:00 +2359\r\n\r\n",
    "encoded nonsense": b"Subject: =?utf-8?b?////?= =?x?q?=?=\r\nFrom: =?utf-8?q?=\r\n\r\n",
    "from without an end": b'From: "a\\" <a@b.org\r\n\r\nx',
    "headers of nul": b"\x00From: \x00\r\n\x00",
    "rfc822 without a mail": b"Content-Type: message/rfc822\r\n\r\n",
    "a report": b"Content-Type: message/delivery-status\r\n\r\nx\r\n\r\ny\r\n",
    "external body": b"Content-Type: message/external-body\r\n\r\n\r\n",
    "nested": b"".join(
        b"Content-Type: multipart/mixed; boundary=b%d\r\n\r\n--b%d\r\n" % (n, n)
        for n in range(3_000)
    ),
    "nested mails": b"Content-Type: message/rfc822\r\n\r\n" * 3_000,
    "many parts": MULTIPART.replace(b"--b--", b"--b\r\n\r\nx\r\n" * 20_000),
    "long header": b"From: " + b"a@b.org, " * 100_000 + b"\r\n\r\nx",
    "long subject": b"Subject: " + b"=?utf-8?q?a?= " * 50_000 + b"\r\n\r\nx",
    "long chain": b"References: " + b"<a@b> " * 100_000 + b"\r\n\r\nx",
    "headers without an end": b"X: y\r\n" * 500_000,
    "long type": b'Content-Type: multipart/mixed; a="' + b'";"' * 500_000 + b"\r\n\r\nx",
    "long type of a part": MULTIPART.replace(b"name=notes.txt", b'a="' + b";\\" * 500_000),
    "long name of a part": MULTIPART.replace(
        b"filename=notes.txt", b"".join(b"\r\n filename*%d=x;" % n for n in range(100_000))
    ),
    "very many parts": MULTIPART.replace(b"--b--", b"--b\r\n\r\nx\r\n" * 2_000_000),
    "very long report": b"Content-Type: message/delivery-status\r\n\r\n" + b"x\n\n" * 2_000_000,
    "brackets": b"From: " + b"(" * 3_000 + b"\r\nSubject: x\r\n\r\n",
    "deep html": b"Content-Type: text/html\r\n\r\n" + b"<div><table><tr><td>" * 5_000,
    "parameters of parts": MULTIPART.replace(
        b"--b--", b"--b\r\nContent-Type: text/plain%s\r\n\r\n" % (b"; a=b" * 380) * 30
    ),
    "lines that end in cr": MULTIPART.replace(
        b"--b--", b"--b\rContent-Type: text/plain%s\r\r" % (b";" * 200_000)
    ),
    "quotes of from": b'From: "' + b'"' * 3_900 + b"\r\n\r\nx",
    "no html": b"Content-Type: text/html\r\n\r\n",
    "declared html": b"Content-Type: text/html\r\n\r\n<?xml version='1.0' encoding='x'?><p>a",
}


# As much as is fetched of one.
MOST_OF_A_HEAD = 1024 * 1024


@dataclass(frozen=True, slots=True)
class WholeMail:
    """A mail's head with its contents."""

    head: MailHead
    text: str
    files: tuple[AttachedFile, ...]

    def __getattr__(self, name: str) -> Any:
        return getattr(self.head, name)


def read_mail(data: bytes) -> WholeMail:
    contents = read_contents(data)
    head = data.partition(b"\r\n\r\n")[0] + b"\r\n\r\n"
    return WholeMail(read_head(head[:MOST_OF_A_HEAD]), contents.text, contents.files)
