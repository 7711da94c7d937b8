"""Of a mail's parts all that say something are read; what programs add is neither text nor file."""

from __future__ import annotations

from base64 import b64encode
from email.message import EmailMessage
from io import BytesIO

import pytest
from PIL import Image

from chatsite.mail.incoming.contents import SMALL_PICTURE, HasHtml, read_contents
from tests.mail.broken_mails import read_mail

HEAD = b"From: a@b.org\r\nMIME-Version: 1.0\r\n"


def drawn(width: int, height: int, kind: str = "PNG") -> bytes:
    """A picture in one colour: few bytes, however large it is."""
    made = BytesIO()
    Image.new("RGB", (width, height), "white").save(made, kind)
    return made.getvalue()


PICTURE = b"\x89PNG\r\n\x1a\n" + bytes(range(256)) * (SMALL_PICTURE // 256 + 1)
# A large one in few bytes.
WINDOW = drawn(640, 300)


def part(kind: str, body: str | bytes, *headers: str) -> bytes:
    data = body if isinstance(body, bytes) else body.encode()
    lines = [f"Content-Type: {kind}", *headers, "Content-Transfer-Encoding: base64", "", ""]
    return "\r\n".join(lines).encode() + b64encode(data)


def many(kind: str, *parts: bytes, mark: str = "b") -> bytes:
    begin = f'Content-Type: multipart/{kind}; boundary="{mark}"\r\n\r\n'.encode()
    between = b"".join(b"--%s\r\n%s\r\n" % (mark.encode(), one) for one in parts)
    return begin + between + b"--%s--\r\n" % mark.encode()


def plain(text: str) -> bytes:
    return part("text/plain; charset=utf-8", text)


def html(text: str) -> bytes:
    return part("text/html; charset=utf-8", text)


QUESTION = html("<p>Where is <b>the quay</b>, and how long is it?</p>")
ASKED = "Where is the quay, and how long is it?"


@pytest.mark.parametrize(
    ("mail", "text"),
    [
        (many("mixed", QUESTION, plain("Confidential.")), f"{ASKED}\n\nConfidential."),
        (many("mixed", plain("One"), plain("Two"), QUESTION), f"One\n\nTwo\n\n{ASKED}"),
        (many("alternative", plain("This mail needs an HTML viewer."), QUESTION), ASKED),
        (many("alternative", plain("Please use a client that shows HTML."), html("Why?")), "Why?"),
        (many("alternative", plain("Confidential."), QUESTION), ASKED),
        (many("alternative", plain("Where is"), QUESTION), ASKED),
        (many("alternative", plain(ASKED), QUESTION), ASKED),
        (many("alternative", QUESTION, plain(ASKED)), ASKED),
        (many("alternative", plain(" \n"), QUESTION), ASKED),
        (many("alternative", plain(ASKED), html("<img src=x>")), ASKED),
        (
            many("mixed", many("alternative", plain("Sent as HTML"), many("related", QUESTION,
             mark="d"), mark="c"), plain("Confidential.")),
            f"{ASKED}\n\nConfidential.",
        ),
        (many("related", many("alternative", plain(ASKED), QUESTION, mark="c")), ASKED),
        (many("mixed", many("mixed", many("mixed", QUESTION, mark="d"), mark="c")), ASKED),
        (many("x-new", plain(ASKED)), ASKED),
        (part("text/markdown; charset=utf-8", ASKED), ASKED),
        (part("text/plain; name=message.txt", ASKED), ASKED),
        (many("mixed", plain("Look:"), part("text/html; name=ATT00001.htm", f"<p>{ASKED}</p>",
         "Content-Disposition: attachment; filename=ATT00001.htm")), f"Look:\n\n{ASKED}"),
    ],
)  # fmt: skip
def test_the_form_that_says_it_is_read_of_each_text(mail: bytes, text: str) -> None:
    assert read_mail(HEAD + mail).text == text


def test_a_digest_is_read_as_its_mails() -> None:
    one = b"\r\nFrom: Bob <bob@b.org>\r\nSubject: =?utf-8?q?Gr=C3=B6=C3=9Fe?=\r\n\r\nThe quay."
    other = (
        b"\r\nFrom: Pat <pat@b.org>\r\nSubject: Crane\r\nContent-Type: text/html\r\n\r\n<p>Free."
    )
    found = read_mail(HEAD + many("digest", one, other))
    assert found.text == (
        "Forwarded message:\nFrom: Bob <bob@b.org>\nSubject: Größe\n\nThe quay.\n\n"
        "Forwarded message:\nFrom: Pat <pat@b.org>\nSubject: Crane\n\nFree."
    )
    assert found.files == ()


@pytest.mark.parametrize(
    ("body", "text", "more"),
    [
        ("A line that \r\ngoes on.\r\nAnother.", "A line that goes on.\nAnother.", ""),
        ("A line that \r\ngoes on.", "A line thatgoes on.", "; delsp=yes"),
        ("> a \r\n> b\r\n>> deeper \r\n>> still\r\nc ", "> a b\n> > deeper still\nc", ""),
        (" From here \r\n on\r\n >not quoted", "From here on\n>not quoted", ""),
        ("Hi \r\n-- \r\nAda \r\nLovelace", "Hi\n-- \nAda Lovelace", ""),
        ("One\r\n\r\nTwo", "One\n\nTwo", ""),
    ],
)  # fmt: skip
def test_flowed_lines_are_joined(body: str, text: str, more: str) -> None:
    kind = f"text/plain; charset=utf-8; format=flowed{more}"
    assert read_mail(HEAD + part(kind, body)).text == text


def test_clear_signed_text_is_read_without_its_armour() -> None:
    text = (
        "-----BEGIN PGP SIGNED MESSAGE-----\nHash: SHA256\n\nHow long?\n- -- dashes\n"
        "-----BEGIN PGP SIGNATURE-----\n\niQ==\n-----END PGP SIGNATURE-----\n"
    )
    assert read_mail(HEAD + plain(text)).text == "How long?\n-- dashes"


# ---- what is no file -------------------------------------------------------------------------
@pytest.mark.parametrize(
    "added",
    [
        part("application/pkcs7-signature; name=smime.p7s", b"x"),
        part("application/x-pkcs7-signature", b"x"),
        part("application/octet-stream", b"x", "Content-Disposition: inline; filename=smime.p7s"),
        part("application/pgp-signature", b"x"),
        part("application/octet-stream; name=signature.asc", b"x"),
        part("application/pgp-keys; name=OpenPGP_0x1.asc", b"x"),
    ],
)  # fmt: skip
def test_signatures_are_no_files(added: bytes) -> None:
    found = read_mail(HEAD + many("signed", plain("How long?"), added))
    assert (found.text, found.files) == ("How long?", ())


def test_a_calendar_beside_the_text_is_none_and_an_attached_one_has_its_name() -> None:
    calendar = part("text/calendar; method=REQUEST", "BEGIN:VCALENDAR")
    invitation = many("alternative", plain("Come!"), html("<p>Come!</p>"), calendar)
    assert read_mail(HEAD + invitation).files == ()
    for kind in ("text/enriched", "text/rtf", "text/watch-html", "text/calendar; name=meeting.ics"):
        forms = many("alternative", plain("Come!"), part(kind, "Come!"), html("<p>Come!</p>"))
        assert (read_mail(HEAD + forms).text, read_mail(HEAD + forms).files) == ("Come!", ())
    attached = read_mail(HEAD + many("mixed", plain("When?"), calendar))
    assert [one.name for one in attached.files] == ["attachment 3.ics"]


def with_picture(page: str, data: bytes, *headers: str) -> bytes:
    picture = part("image/png; name=image001.png", data, "Content-ID: <image001.png@01>", *headers)
    return HEAD + many("related", html(page), picture)


SHOWN = '<img src="cid:image001.png@01">'


@pytest.mark.parametrize(
    ("page", "data", "is_file"),
    [
        (f"<p>What is this?</p>{SHOWN}", PICTURE, True),
        (f"{SHOWN}<p>What is this?</p>", PICTURE, True),
        (f"<p>What is this?</p>{SHOWN}", PICTURE[:5_000], False),
        (f"<p>What is this?</p>{SHOWN}", WINDOW, True),
        (f"<p>What is this?</p>{SHOWN}", drawn(400, 130, "GIF"), True),
        (f"<p>What is this?</p>{SHOWN}", drawn(300, 300, "JPEG"), True),
        (f"<p>What is this?</p>{SHOWN}", drawn(300, 60), False),
        (f"<p>What is this?</p>{SHOWN}", drawn(96, 96), False),
        (f"<p>What is this?</p>{SHOWN}", drawn(640, 300)[:20], False),
        (f"<p>What?</p><div class=gmail_signature>Ada{SHOWN}</div>", WINDOW, False),
        (f"<p>What?</p><div class=gmail_signature>Ada{SHOWN}</div>", PICTURE, False),
        (f"<p>What?</p><div id=Signature>Ada<p>{SHOWN}</p></div>", PICTURE, False),
        (f"<p>What?</p><blockquote><p>Look: {SHOWN}</p></blockquote>", PICTURE, False),
        (f"<p>What?</p><div id=divRplyFwdMsg>From: H</div><p>Look: {SHOWN}</p>", PICTURE, False),
        ("<p>What is this?</p>", PICTURE[:5_000], True),
    ],
)
def test_a_picture_in_the_text_is_a_file_where_its_sender_put_it_to_be_seen(
    page: str, data: bytes, is_file: bool
) -> None:
    found = read_mail(with_picture(page, data))
    assert [one.name for one in found.files] == ["image001.png"] * is_file
    # Of what is forwarded nobody knows which pictures were meant: all that are no logos.
    found = read_mail(b"Subject: WG: Kran\r\n" + with_picture(page, data))
    assert bool(found.files) == (is_file or data in (PICTURE, WINDOW))


def test_html_with_pictures_is_left_to_the_process_that_reads_html() -> None:
    forms = many("alternative", plain("What?"), html(f"<p>What?</p>{SHOWN}"), mark="c")
    picture = part("image/png", b"x", "Content-ID: <image001.png@01>")
    with pytest.raises(HasHtml):
        read_contents(HEAD + many("related", forms, picture), html=False)
    assert read_contents(HEAD + forms, html=False).text == "What?"


# ---- what can't be read ----------------------------------------------------------------------
ARMOUR = "-----BEGIN PGP MESSAGE-----\n\nhQ==\n-----END PGP MESSAGE-----\n"


@pytest.mark.parametrize(
    "mail",
    [
        part("application/pkcs7-mime; smime-type=enveloped-data; name=smime.p7m", b"x"),
        part("application/x-pkcs7-mime; name=smime.p7m", b"x", "Content-Disposition: attachment"),
        part("application/pkcs7-mime; smime-type=signed-data; name=smime.p7m", b"x"),
        part("application/octet-stream; name=smime.p7m", b"x"),
        many("encrypted", part("application/pgp-encrypted", "x"), part("text/plain", ARMOUR)),
        many("mixed", part("application/pgp-encrypted", "x"), part("text/plain; name=a", ARMOUR)),
        many("mixed", part("application/pkcs7-mime; name=smime.p7m", b"x"), plain("Confidential.")),
        plain(ARMOUR),
        html(f"<pre>{ARMOUR}</pre>"),
        many("mixed", plain(""), part("application/pgp-encrypted", "x"), part("a/b; name=a", "x")),
    ],
)  # fmt: skip
def test_an_encrypted_mail_is_known_as_one(mail: bytes) -> None:
    found = read_contents(HEAD + mail)
    assert (found.is_encrypted, found.text, found.files) == (True, "", ())


@pytest.mark.parametrize(
    "text", [f"What is this?\n\n{ARMOUR}", "-----BEGIN PGP MESSAGE is a line. Of what?"]
)
def test_a_question_about_encryption_is_none(text: str) -> None:
    assert read_contents(HEAD + plain(text)).text == text.strip()


def test_a_question_about_an_attached_encrypted_mail_is_none() -> None:
    attached = b"Content-Type: message/rfc822\r\n\r\n" + many(
        "encrypted", part("application/pgp-encrypted", "x"), part("a/b", ARMOUR), mark="c"
    )
    found = read_contents(HEAD + many("mixed", plain("What is this?"), attached))
    assert not found.is_encrypted and found.text.startswith("What is this?")


def test_an_attached_encrypted_file_is_a_file() -> None:
    made = EmailMessage()
    made.set_content("What is this?")
    made.add_attachment(b"x", maintype="application", subtype="pkcs7-mime", filename="old.p7m")
    found = read_contents(made.as_bytes())
    assert not found.is_encrypted and [one.name for one in found.files] == ["old.p7m"]
