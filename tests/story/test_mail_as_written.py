"""What the model is asked of mails as people's programs write them: through a real mailbox, the
running server, and a model server that keeps what it was sent."""

from __future__ import annotations

import json
import secrets
from base64 import b64encode
from collections.abc import Iterator
from email.message import EmailMessage
from io import BytesIO
from pathlib import Path

import pytest
from PIL import Image

from tests.fakes.dovecot import Dovecot
from tests.fakes.mailing import (
    AUTHSERV,
    add_account,
    id_of,
    mail_environment,
    mail_server,
    rows,
    state_of,
    until,
)
from tests.fakes.openai_server import FakeOpenAI
from tests.fakes.smtp_sink import SmtpSink, text_of
from tests.running import Server
from tests.story.conftest import provider_environment

ANSWER = "It is 40 m long, and 6 m deep."
# What makes the model server give that answer; it is in the first mail of a thread.
ASKS = f"How long is the quay? [[text={ANSWER}]]"


@pytest.fixture(scope="module")
def server(
    fake: FakeOpenAI,
    mailbox: Dovecot,
    sink: SmtpSink,
    agents: Path,
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[Server]:
    environment = provider_environment(
        fake,
        **mail_environment(mailbox, sink, MAIL_AGENT="plain", MAIL_THREAD_HOURLY="99"),
        AGENTS_DIR=str(agents),
    )
    with mail_server(tmp_path_factory.mktemp("mail"), environment) as running:
        yield running


class Writer:
    """Somebody with a verified address."""

    def __init__(self, server: Server, fake: FakeOpenAI, mailbox: Dovecot, sink: SmtpSink) -> None:
        self.server, self.fake, self.mailbox, self.sink = server, fake, mailbox, sink
        self.address = add_account(server, f"ada-{secrets.token_hex(4)}")
        self.answers: list[EmailMessage] = []
        self.id = ""

    def send(self, body: bytes, *, subject: bytes = b"The quay", answers: bool = False) -> str:
        """A mail with these headers and this body behind its own headers; the answer's text."""
        self.id = f"{secrets.token_hex(8)}@example.org"
        head = [
            f"Authentication-Results: {AUTHSERV}; dmarc=pass header.from=example.org",
            f"From: {self.address}",
            f"Message-ID: <{self.id}>",
            *([f"In-Reply-To: <{id_of(self.answers[-1])}>"] if answers else []),
            "MIME-Version: 1.0",
        ]
        lines = "\r\n".join(head).encode() + b"\r\nSubject: " + subject + b"\r\n"
        self.mailbox.deliver(lines + body.replace(b"\r\n", b"\n").replace(b"\n", b"\r\n"))
        self.answers = self.sink.wait_to(self.address, len(self.answers) + 1)
        return text_of(self.answers[-1])

    def asked(self) -> str:
        """What the model was sent as the newest mail's message."""
        (found,) = rows(
            self.server,
            "SELECT message.content FROM conversations_message message JOIN conversations_mail "
            "mail ON mail.id = message.id WHERE mail.message_id = ?",
            self.id,
        )
        content = str(found[0])
        sent = [str(one["messages"][-1]["content"]) for one in self.fake.requests]
        assert any(content == one or content in one for one in sent), content
        return content.removeprefix("Subject: The quay\n\n")


@pytest.fixture
def ada(server: Server, fake: FakeOpenAI, mailbox: Dovecot, sink: SmtpSink) -> Writer:
    return Writer(server, fake, mailbox, sink)


def plain(text: str, charset: str = "utf-8", more: str = "") -> bytes:
    head = f"Content-Type: text/plain; charset={charset}{more}\nContent-Transfer-Encoding: 8bit\n\n"
    return head.encode() + text.encode()


def html(text: str) -> bytes:
    return b"Content-Type: text/html; charset=utf-8\n\n" + text.encode()


def many(kind: str, *parts: bytes, mark: str = "b") -> bytes:
    between = b"".join(b"--%s\n%s\n" % (mark.encode(), one) for one in parts)
    begin = f'Content-Type: multipart/{kind}; boundary="{mark}"\n\n'.encode()
    return begin + between + b"--%s--\n" % mark.encode()


def file(kind: str, data: bytes, *headers: str) -> bytes:
    lines = [f"Content-Type: {kind}", *headers, "Content-Transfer-Encoding: base64", "", ""]
    return "\n".join(lines).encode() + b64encode(data)


# ---- what is forwarded, and what others wrote --------------------------------------------------
FORWARDED = {
    "Gmail": "Please sum this up.\n\n---------- Forwarded message ---------\n"
    "From: Bob <b@b.example>\nDate: Tue, Nov 3, 2026\nSubject: Crane\n\nThe crane is free.",
    "Apple Mail": "Please sum this up.\n\n> Begin forwarded message:\n> \n"
    "> From: Bob <b@b.example>\n> Subject: Crane\n> \n> The crane is free.",
    "Outlook": "Please sum this up.\n\nFrom: Bob <b@b.example>\nSent: Tuesday\nTo: Pat\n"
    "Subject: Quay\n\nThe crane is free.",
    "Outlook, Danish": "Please sum this up.\n\nFra: Bob <b@b.example>\nSendt: 3. november 2026\n"
    "Til: Pat\nEmne: Kran\n\nThe crane is free.",
    "Thunderbird": "Please sum this up.\n\n-------- Weitergeleitete Nachricht --------\n"
    "Betreff: \tKran\nVon: \tBob <b@b.example>\n\nThe crane is free.",
    "Notes, German": "Please sum this up.\n\n----- Weitergeleitet von Ada/Harbour am 03.11.2026 "
    "10:15 -----\n\nVon:\tBob <b@b.example>\nAn:\tAda\nBetreff:\tKran\n\nThe crane is free.",
    "a running thread": "Please answer Bob's question below.\n\nOn Tue, 3 Nov 2026 at 10:12, Bob "
    "<b@b.example> wrote:\n> The crane is free.\n> When do you come?",
}  # fmt: skip


@pytest.mark.parametrize("program", FORWARDED)
def test_what_somebody_forwards_or_quotes_of_others_reaches_the_model(
    ada: Writer, program: str
) -> None:
    ada.send(plain(FORWARDED[program]))
    assert ada.asked() == FORWARDED[program]


def test_an_attached_mail_is_read(ada: Writer) -> None:
    attached = (
        b"Content-Type: message/rfc822\n\nFrom: Bob <b@b.example>\nSubject: Crane\n\nIt's free."
    )
    ada.send(many("mixed", plain("Please sum this up."), attached))
    assert ada.asked() == (
        "Please sum this up.\n\nForwarded message:\nFrom: Bob <b@b.example>\nSubject: Crane\n\n"
        "It's free."
    )


@pytest.mark.parametrize(
    "text",
    [
        "Find a train.\n\nFrom: Bremen\nTo: Oslo\nDate: 3 May\nPassengers: 2",
        "One\n____________________\nTwo",
        "One\n--\nTwo",
        "Why does it fail?\n\nSELECT 1;\n-- \nSELECT 2;\n\nWhat is wrong?",
        "Where is my parcel?\n\nSent with DHL on Monday",
    ],
)
def test_lines_that_look_like_marks_stay_in_a_first_mail_and_in_a_later_one(
    ada: Writer, text: str
) -> None:
    ada.send(plain(text))
    assert ada.asked() == text
    ada.send(plain(text), answers=True)
    assert ada.asked() == text


# ---- what the conversation holds ---------------------------------------------------------------
def quoted_answer(ada: Writer) -> str:
    return "\n".join(f"> {line}" for line in text_of(ada.answers[-1]).rstrip().split("\n"))


@pytest.mark.parametrize(
    "lead",
    [
        "On Tue, 3 Nov 2026 at 10:12, <agent@harbour.example> wrote:\n\n",
        "вт, 3 нояб. 2026 г. в 10:12, <agent@harbour.example>:\n\n",
        "2026年11月3日(火) 10:12 <agent@harbour.example>:\n\n",
    ],
)
def test_the_whole_answer_with_its_footer_is_cut_from_a_reply(ada: Writer, lead: str) -> None:
    ada.send(plain(ASKS))
    ada.send(plain(f"And the crane?\n\n{lead}{quoted_answer(ada)}\n"), answers=True)
    assert ada.asked() == "And the crane?"


@pytest.mark.parametrize(
    "block",
    [
        "Fra: Havnen\nSendt: 3. november 2026\nTil: Ada\nEmne: Re: The quay",
        "差出人: 港\n送信日時: 2026年11月3日\n宛先: Ada\n件名: Re: The quay",
        "发件人: 港口\n发送时间: 2026年11月3日\n收件人: Ada\n主题: Re: The quay",
    ],
)
def test_so_is_one_below_outlooks_headers_in_any_language(ada: Writer, block: str) -> None:
    ada.send(plain(ASKS))
    whole = text_of(ada.answers[-1])
    ada.send(plain(f"And the crane?\n\n{block}\n\n{whole}"), answers=True)
    assert ada.asked() == "And the crane?"


@pytest.mark.parametrize(
    "page",
    [
        '<div>And the crane?</div><br><div class="gmail_quote"><div class="gmail_attr">On Tue, 3 '
        "Nov 2026, &lt;h@x.example&gt; wrote:<br></div><blockquote>{body}</blockquote></div>",
        "<p>And the crane?</p><div id=appendonsend></div><hr><div id=divRplyFwdMsg><b>Från:</b> H"
        "<br><b>Skickat:</b> 3</div>{body}",
    ],
)
def test_so_is_one_in_a_reply_of_html_alone(ada: Writer, page: str) -> None:
    ada.send(plain(ASKS))
    form = ada.answers[-1].get_body(("html",))
    assert form is not None
    body = form.get_content().partition("<body>")[2].partition("</body>")[0]
    ada.send(html(page.format(body=body)), answers=True)
    assert ada.asked() == "And the crane?"


def test_a_sentence_that_is_chosen_from_the_answer_is_asked_about(ada: Writer) -> None:
    ada.send(plain(ASKS))
    for lead in ("", "On Tue, 3 Nov 2026 at 10:12, <agent@harbour.example> wrote:\n\n"):
        mail = f"What does this mean?\n\n{lead}> and 6 m deep."
        ada.send(plain(mail), answers=True)
        assert ada.asked() == mail


def test_an_answer_below_a_gateways_warning_is_cut(ada: Writer) -> None:
    ada.send(plain(ASKS))
    above = (
        "And the crane?\n\nFrom: The Harbour <h@x.example>\nSent: Tuesday\nTo: Ada\n"
        "Subject: [EXTERNAL] Re: The quay\n\nCAUTION: This mail came from outside."
    )
    ada.send(plain(f"{above}\n\n{text_of(ada.answers[-1])}"), answers=True)
    assert ada.asked() == above


def test_of_a_quote_in_a_known_thread_what_others_wrote_stays(ada: Writer) -> None:
    ada.send(plain(ASKS))
    words = (
        f"And what of this?\n\nOn Tue, 3 Nov 2026, Bob <b@b.example> wrote:\n> Ask {ada.address}."
    )
    mail = f"{words}\n>\n> On Mon, 2 Nov 2026, H <h@x.example> wrote:\n> > {ANSWER}\n"
    ada.send(plain(mail), answers=True)
    assert ada.asked() == words


def test_the_answers_quote_is_what_was_asked(ada: Writer) -> None:
    ada.send(plain(ASKS))
    answer = ada.send(plain(f"And the crane?\n\n{quoted_answer(ada)}\n"), answers=True)
    assert "\n\n> And the crane?\n\n-- \n" in answer


# ---- parts, character sets, flowed lines -------------------------------------------------------
STUB = many("alternative", plain("This mail needs an HTML viewer."), html("<p>Where is it?</p>"))


@pytest.mark.parametrize(
    ("body", "text"),
    [
        (many("mixed", html("<p>Where is it?</p>"), plain("Confidential.")),
         "Where is it?\n\nConfidential."),
        (STUB, "Where is it?"),
        (many("digest", b"\nSubject: Crane\n\nIs it free?"),
         "Forwarded message:\nSubject: Crane\n\nIs it free?"),
        (html("<svg><foreignObject><p>Where is it?</p></foreignObject></svg>"), "Where is it?"),
        (html("<p>Where</p><plaintext>is it?"), "Where\n\nis it?"),
        (many("mixed", plain("Look."), file("text/plain; name=ATT00001.txt", b"Where is it?",
         "Content-Disposition: attachment; filename=ATT00001.txt")), "Look.\n\nWhere is it?"),
        (plain("Grüße", "us-ascii"), "Grüße"),
        (b"Content-Type: text/plain; charset=utf-8\n\nStra\xdfe", "Straße"),
        (b"Content-Type: text/plain; charset=iso-8859-1\n\n\x935 \x80\x94", "“5 €”"),
        (b"Content-Type: text/plain\n\n" + "Gdzie jest żuraw? Dziękuję, Łukasz".encode("cp1250"),
         "Gdzie jest żuraw? Dziękuję, Łukasz"),
        (b"\n" + "クレーンはどこですか。".encode("iso2022_jp"), "クレーンはどこですか。"),
        (plain("• Grüße", "windows-1252"), "• Grüße"),
        (plain("Größe", "8bit"), "Größe"),
        (plain("Where is \nit?", more="; format=flowed"), "Where is it?"),
    ],
)  # fmt: skip
def test_all_that_a_mail_says_is_read(ada: Writer, body: bytes, text: str) -> None:
    ada.send(body)
    assert ada.asked() == text


def test_a_subject_of_bytes_as_they_are_is_read(ada: Writer) -> None:
    ada.send(plain("Where?"), subject="Größe".encode())
    assert ada.asked() == "Subject: Größe\n\nWhere?"


# ---- what is no file ---------------------------------------------------------------------------
PICTURE = b"\x89PNG\r\n\x1a\n" + secrets.token_bytes(400)
SIGNED = file("application/pkcs7-signature; name=smime.p7s", b"x" * 100)


@pytest.mark.parametrize(
    "body",
    [
        many("signed", plain("Where is it?"), SIGNED),
        many("signed", plain("Where is it?"), file("application/pgp-signature", b"iQ==")),
        many("alternative", plain("Where is it?"), file("text/calendar", b"BEGIN:VCALENDAR")),
        many("alternative", plain("Where is it?"), file("text/enriched", b"Where is it?")),
        many(
            "related",
            html('<p>Where is it?</p><img src="cid:image001.png@01">'),
            file("image/png; name=image001.png", PICTURE, "Content-ID: <image001.png@01>"),
        ),
    ],
)
def test_what_programs_add_is_no_file_and_not_complained_of(ada: Writer, body: bytes) -> None:
    answer = ada.send(body)
    assert ada.asked() == "Where is it?" and "not taken" not in answer
    sql = "SELECT files, refused FROM conversations_mail WHERE message_id = ?"
    assert rows(ada.server, sql, ada.id) == [("[]", "[]")]


def test_a_picture_in_the_text_is_taken_once_in_its_thread(ada: Writer) -> None:
    noise = BytesIO()
    Image.frombytes("RGB", (80, 80), secrets.token_bytes(80 * 80 * 3)).save(noise, "png")
    picture = file(
        "image/png; name=image001.png", noise.getvalue(), "Content-ID: <image001.png@01>"
    )
    counts = []
    for text in ("What is this?", "And now?"):
        page = html(f'<p>{text}</p><p>Ada</p><img src="cid:image001.png@01">')
        ada.send(many("related", page, picture), answers=bool(ada.answers))
        sql = "SELECT files FROM conversations_mail WHERE message_id = ?"
        counts.append(len(json.loads(rows(ada.server, sql, ada.id)[0][0])))
    assert counts == [1, 0]


def test_a_picture_in_what_is_forwarded_is_taken(ada: Writer) -> None:
    noise = BytesIO()
    Image.frombytes("RGB", (80, 80), secrets.token_bytes(80 * 80 * 3)).save(noise, "png")
    page = html(
        '<p>What is it?</p><div id="divRplyFwdMsg"><b>From:</b> Bob</div><img src="cid:quay@b">'
    )
    picture = file("image/png; name=quay.png", noise.getvalue(), "Content-ID: <quay@b>")
    ada.send(many("related", page, picture), subject=b"FW: A quay")
    sql = "SELECT files FROM conversations_mail WHERE message_id = ?"
    assert len(json.loads(rows(ada.server, sql, ada.id)[0][0])) == 1


@pytest.mark.parametrize("subject", ["Auto: was kostet es?", "Trả lời: Bến cảng"])
def test_a_person_is_answered_whatever_the_subject_looks_like(ada: Writer, subject: str) -> None:
    assert ada.send(plain(ASKS), subject=subject.encode()).startswith(ANSWER)


@pytest.mark.parametrize(
    "body",
    [
        file("application/pkcs7-mime; smime-type=enveloped-data; name=smime.p7m", b"x" * 100),
        file("application/pkcs7-mime; smime-type=signed-data; name=smime.p7m", b"x" * 100),
        many("encrypted", file("application/pgp-encrypted", b"Version: 1"), file("a/b", b"x")),
        plain("-----BEGIN PGP MESSAGE-----\n\nhQ==\n-----END PGP MESSAGE-----\n"),
    ],
)
def test_an_encrypted_mail_is_answered_by_a_sentence_and_no_model_is_asked(
    ada: Writer, body: bytes
) -> None:
    before = len(ada.fake.requests)
    answer = ada.send(body)
    assert "encrypted" in answer and len(ada.fake.requests) == before
    until(lambda: state_of(ada.server, ada.id) == "answered")
    assert rows(ada.server, "SELECT 1 FROM conversations_message WHERE content LIKE '%hQ==%'") == []
