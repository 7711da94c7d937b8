"""A mail is read whatever its bytes are; of a broken one, what can be read."""

from __future__ import annotations

import time
from email.message import EmailMessage
from encodings.aliases import aliases
from itertools import cycle, islice, product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chatsite.mail.incoming.quotes.marks import Held
from chatsite.mail.incoming.quotes.quoted import own_words
from chatsite.mail.incoming.reading import answered_ids, read_head, subject_key
from tests.mail.broken_mails import BROKEN, MULTIPART, read_mail

BROKEN_SMALL = [name for name, mail in BROKEN.items() if len(mail) < 2_000]


def built(**headers: str) -> EmailMessage:
    made = EmailMessage()
    for name, value in {"from": "Ada <ada@example.org>", **headers}.items():
        made[name.replace("_", "-")] = value
    return made


def test_all_of_an_ordinary_mail_is_read() -> None:
    made = built(
        subject="Über den Kai",
        message_id="<2@example.org>",
        in_reply_to="<1@example.org>",
        references="<0@example.org>  <1@example.org>",
        date="Tue, 03 Nov 2026 10:12:00 +0100",
    )
    made.set_content("Wie lang ist er?")
    made.add_alternative("<p>Wie lang ist er?</p>", subtype="html")
    made.add_attachment(b"%PDF-1.4", maintype="application", subtype="pdf", filename="Kai.pdf")
    found = read_mail(made.as_bytes())
    assert (found.id, found.sender, found.subject) == (
        "2@example.org",
        "ada@example.org",
        "Über den Kai",
    )
    assert found.text == "Wie lang ist er?"
    assert (found.replied, found.chain) == (("1@example.org",), ("0@example.org", "1@example.org"))
    assert [(one.name, one.type, one.data) for one in found.files] == [
        ("Kai.pdf", "application/pdf", b"%PDF-1.4")
    ]
    assert found.date is not None and found.date.isoformat() == "2026-11-03T09:12:00+00:00"


def test_html_becomes_text_with_its_quote_marked() -> None:
    made = built()
    made.set_content(
        "<html><head><style>p {}</style></head><body><p>It is <b>40 m</b> long.</p>"
        "<ul><li>one<li>two</ul><script>x()</script><img src='https://example.org/x.png'>"
        "<blockquote><p>How long is the quay?</p></blockquote></body></html>",
        subtype="html",
    )
    text = read_mail(made.as_bytes()).text
    assert "It is 40 m long." in text and "* one" in text
    for gone in ("x()", "p {}", "<", "example.org"):
        assert gone not in text
    assert "How long is the quay?" in text, "what is stored is whole"


def test_each_part_of_a_mixed_mail_is_read_and_of_alternatives_the_plain_one() -> None:
    head = b"From: a@b.org\r\nContent-Type: multipart/%s; boundary=b\r\n\r\n"
    html = b"--b\r\nContent-Type: text/html\r\n\r\n<p>What I <b>asked</b></p>\r\n"
    plain = b"--b\r\nContent-Type: text/plain\r\n\r\nThe list's footer\r\n"
    assert read_mail(head % b"mixed" + html + plain + b"--b--").text == (
        "What I asked\n\nThe list's footer"
    )
    assert read_mail(head % b"alternative" + plain + html + b"--b--").text == "The list's footer"
    empty = plain.replace(b"The list's footer", b" ")
    assert read_mail(head % b"alternative" + empty + html + b"--b--").text == "What I asked"


def test_lines_that_begin_like_a_boundary_are_text() -> None:
    comments = b"-- a comment of SQL\r\n" * 5_000
    mail = MULTIPART.replace(b"How long?\r\n", comments)
    assert read_mail(mail).text == comments.decode().strip().replace("\r\n", "\n")
    assert read_mail(mail.replace(b"boundary=b", b'boundary="b"')).files


@pytest.mark.parametrize(
    ("charset", "text", "codec"),
    [
        ("gb2312", "\u9555\u57fa\u3001\u55c3", "gb18030"),
        ("shift_jis", "\u2460 \u9ad9", "cp932"),
        ("iso-8859-1", "\u201cquoted\u201d \u2014 5 \u20ac", "cp1252"),
        ("us-ascii", "it\u2019s", "cp1252"),
        ("iso-8859-8-i", "\u05e9\u05dc\u05d5\u05dd", "iso-8859-8"),
        ("cp-1251", "\u041f\u0440\u0438", "cp1251"),
        ("ks_c_5601-1987", "\ubdc1", "cp949"),
    ],
)
def test_a_charset_is_what_mail_programs_mean_by_its_name(
    charset: str, text: str, codec: str
) -> None:
    head = f"From: a@b.org\r\nContent-Type: text/plain; charset={charset}\r\n\r\n".encode()
    assert read_mail(head + text.encode(codec)).text == text


def test_an_attached_mail_is_read_as_what_is_forwarded_with_its_files() -> None:
    inner = built(subject="Inner")
    inner.set_content("Inside")
    inner.add_attachment(b"%PDF-1.4", maintype="application", subtype="pdf", filename="Kai.pdf")
    made = built()
    made.set_content("See below")
    made.add_attachment(inner)
    found = read_mail(made.as_bytes())
    assert found.text == (
        "See below\n\nForwarded message:\nFrom: Ada <ada@example.org>\nSubject: Inner\n\nInside"
    )
    assert own_words(found.text, Held(["Inside"])) == found.text
    assert [one.name for one in found.files] == ["Kai.pdf"]


def test_a_mail_without_an_id_gets_one_of_its_head() -> None:
    one, other = read_head(b"From: a@b.org\n\n"), read_head(b"From: c@b.org\n\n")
    assert one.id != other.id and one.id == read_head(b"From: a@b.org\n\n").id


@pytest.mark.slow
@pytest.mark.parametrize("name", BROKEN)
def test_a_broken_mail_is_read_within_seconds(name: str) -> None:
    began = time.process_time()
    found = read_mail(BROKEN[name])
    own_words(found.text)
    assert time.process_time() - began < 5
    f"{found.sender}{found.subject}{found.text}".encode()
    assert found.id and all(one.name and one.data for one in found.files)


def test_what_can_be_read_of_a_broken_mail_is_there() -> None:
    assert read_mail(BROKEN["boundary never ends"]).text == "How long?"
    assert read_mail(BROKEN["unknown charset"]).text == "How long?"
    assert read_mail(BROKEN["bad base64"]).sender == "ada@example.org"


@given(st.binary(max_size=400))
def test_no_bytes_make_it_raise(data: bytes) -> None:
    read_mail(data)


PIECES = st.sampled_from(
    [b"\r\n", b"\n", b"--b", b"--b--", b": ", b"Content-Type", b"text/plain", b"multipart/mixed",
     b"; boundary=b", b"message/rfc822", b"Content-Transfer-Encoding", b"base64", b"=?utf-8?q?",
     b"?=", b"From", b"a@b.org", b"<", b">", b'"', b"(", b")", b",", b";", b"@", b"\\", b"\x00",
     b"\xff", b"In-Reply-To", b"Date", b"Subject", b"; charset=", b"utf-7", b"; name*0*=''%"]
)  # fmt: skip


@given(st.lists(PIECES, max_size=40).map(b"".join))
def test_no_tree_makes_it_raise(data: bytes) -> None:
    read_mail(data)
    read_mail(MULTIPART.replace(b"How long?", data))


CHARSETS = sorted({*aliases, *aliases.values()})
CHARSETS += ["", "\x00", "idna\x00", "undefined", "x" * 9_000, "..", "unicode-escape", "%s", "é"]
# Of every kind that a codec may choke on: no ASCII, half a character, a source's escapes.
BYTES = [b"caf\xe9", b"\xff\xfe\x00", b"\\u12 \\N{x} \x80", b"+AGE\xff-", b"xn--\xc3\xbc"]


@pytest.mark.slow
@pytest.mark.parametrize("first", (0, 2))
def test_no_charset_that_python_knows_makes_it_raise_or_costs_the_text(first: int) -> None:
    """Among them codecs that decode no text, and two that take quadratic time. Each with two of the
    bodies."""
    ways = cycle(product((b"plain", b"html"), (b"8bit", b"quoted-printable", b"x-none")))
    bodies = islice(cycle(BYTES), first, None)
    for charset, body, (kind, encoding) in zip(CHARSETS, bodies, ways, strict=False):
        named = charset.encode("utf-8", "surrogateescape")
        head = b'From: a@b.org\r\nContent-Type: text/%s; charset="%s"\r\n' % (kind, named)
        read_mail(head + b"Content-Transfer-Encoding: %s\r\n\r\n" % encoding + body)
        assert read_mail(head + b"\r\n" + body).text


@pytest.mark.slow
def test_no_charset_of_a_header_makes_it_raise() -> None:
    """Of encoded words, and of the parameters that name a charset of their own (RFC 2231)."""
    for charset, kind in zip(CHARSETS, cycle(("plain", "html", "x")), strict=False):
        mail = (
            f"From: =?{charset}?q?=e9=0d?= <a@b.org>\r\nSubject: =?{charset}*en?b?//8=?=\r\n"
            f"Content-Type: multipart/mixed; boundary*={charset}''b\r\n\r\n--b\r\n"
            f"Content-Type: text/{kind}; charset*={charset}''{charset}; name*={charset}''%e9%00\r\n"
            f"Content-Disposition: inline; filename*0*={charset}''%ff\r\n\r\ncaf\xe9\r\n--b--"
        )
        read_mail(mail.encode("latin-1", "replace"))
        # The named charset is the mail's own, too: its type is parsed whatever is asked of it.
        read_mail(mail.replace("multipart/mixed", f"text/{kind}").encode("latin-1", "replace"))


@given(st.sampled_from(CHARSETS), st.sampled_from(sorted(BROKEN_SMALL)), st.data())
def test_no_mutation_of_a_mail_makes_it_raise(charset: str, name: str, data: st.DataObject) -> None:
    mail = bytearray(BROKEN[name].replace(b"utf-8", charset.encode("utf-8", "surrogateescape")))
    for _ in range(data.draw(st.integers(0, 8)) if mail else 0):
        at = data.draw(st.integers(0, len(mail) - 1))
        mail[at : at + data.draw(st.integers(0, 3))] = data.draw(st.binary(max_size=4))
        if not mail:
            break
    read_mail(bytes(mail))


def test_a_long_name_of_a_host_costs_no_quadratic_time() -> None:
    head = b"From: a@b.org\r\nContent-Type: text/plain; charset=punycode\r\n\r\n"
    assert len(read_mail(head + b"a" * 200_000 + b"\xe9").text) == 200_001


# ---- threads ---------------------------------------------------------------------------------
@pytest.mark.parametrize(
    "subject",
    [
        "Re: The quay",
        "AW: Re: The  quay",
        "re[2]: the QUAY",
        "Fwd: [harbour] Re: The quay",
        "WG: the quay",
    ],
)
def test_answers_have_the_same_subject(subject: str) -> None:
    assert subject_key(subject) == subject_key("The quay")


def test_a_subject_of_prefixes_alone_is_none() -> None:
    assert subject_key("Re: AW:") == "" and subject_key("Reform: x") == "reform: x"


def test_the_closest_known_id_decides_and_the_subject_only_without_any() -> None:
    made = built(in_reply_to="<3@x>", references="<1@x> <2@x> <3@x>")
    ids = answered_ids(read_head(made.as_bytes()))
    assert ids == ("3@x", "2@x", "1@x")
