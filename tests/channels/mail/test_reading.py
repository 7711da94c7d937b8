"""A mail is read whatever its bytes are; of a broken one, what can be read."""

from __future__ import annotations

import time
from email.message import EmailMessage

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chatsite.channels.mail.incoming.quoted import own_words
from chatsite.channels.mail.incoming.reading import read_mail
from chatsite.channels.mail.incoming.threads import answered_ids, chosen_thread, subject_key
from tests.channels.mail.broken_mails import BROKEN, MULTIPART


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


def test_an_attached_mail_is_a_file() -> None:
    inner = built(subject="Inner")
    inner.set_content("Inside")
    made = built()
    made.set_content("See below")
    made.add_attachment(inner)
    found = read_mail(made.as_bytes())
    assert found.text == "See below"
    assert [one.type for one in found.files] == ["message/rfc822"]
    assert b"Inside" in found.files[0].data


def test_a_mail_without_an_id_gets_one_of_its_bytes() -> None:
    one, other = read_mail(b"From: a@b.org\n\nx"), read_mail(b"From: a@b.org\n\ny")
    assert one.id != other.id and one.id == read_mail(b"From: a@b.org\n\nx").id


@pytest.mark.parametrize("name", BROKEN)
def test_a_broken_mail_is_read_within_seconds(name: str) -> None:
    began = time.monotonic()
    found = read_mail(BROKEN[name])
    own_words(found.text)
    assert time.monotonic() - began < 5
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
    ids = answered_ids(read_mail(made.as_bytes()))
    assert ids == ("3@x", "2@x", "1@x")
    assert chosen_thread(ids, by_id={"1@x": "old", "2@x": "new"}, by_subject="other") == "new"
    assert chosen_thread(ids, by_id={}, by_subject="other") is None
    assert chosen_thread((), by_id={}, by_subject="other") == "other"
