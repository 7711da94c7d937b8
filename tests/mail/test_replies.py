"""Answers are proper replies, whatever was asked and answered."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime
from email import message_from_bytes, policy
from email.message import EmailMessage
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from lxml import html as lxml_html

from chatsite.channels.channel import Answer
from chatsite.mail.incoming.quotes.marks import Held
from chatsite.mail.incoming.quotes.quoted import own_words
from chatsite.mail.incoming.reading import read_head
from chatsite.mail.models import Mail
from chatsite.mail.outgoing.replies import (
    LONGEST_CHAIN,
    answer_reply,
    mailed_html,
    remembered_words,
)
from chatsite.views import Problem
from tests.fakes.smtp_sink import text_of

NOW = datetime(2026, 11, 25, 10, 12, tzinfo=UTC)
OWN, SITE = "agent@harbour.example", "https://chat.harbour.example"


def made_mail(**more: Any) -> Mail:
    fields: dict[str, Any] = {
        "id": "6d0f3a5e-0000-4000-8000-000000000001",
        "message_id": "2@example.org",
        "sender": "ada@example.org",
        "subject": "The quay",
        "text": "How long is it?",
        "chain": ["0@example.org", "1@example.org"],
        "conversation_id": "6d0f3a5e-0000-4000-8000-000000000002",
    }
    return Mail(**(fields | more))


MAIL = made_mail()
RECEIPT: dict[str, Any] = {
    "exchanges": {"stored": 12, "sent": 3, "pinned": 1, "older": 0},
    "in_words": "last 3 user messages",
}
ANSWER = Answer(turn="turn-1", state="complete", text="40 m.", problem=None, receipt=RECEIPT)


def reply(mail: Mail = MAIL, answer: Answer = ANSWER) -> EmailMessage:
    data = answer_reply(mail, answer, words=mail.text, own=OWN, site=SITE, now=NOW).data
    return message_from_bytes(data, policy=policy.default)


def html(mail: EmailMessage) -> str:
    body = mail.get_body(("html",))
    assert body is not None
    return str(body.get_content())


def test_it_has_the_headers_of_its_thread_and_of_an_automatic_answer() -> None:
    made = reply()
    assert (made["From"], made["To"], made["Subject"]) == (OWN, "ada@example.org", "Re: The quay")
    assert made["Message-ID"] == "<turn-1@harbour.example>"
    assert made["In-Reply-To"] == "<2@example.org>"
    assert str(made["References"]) == "<0@example.org> <1@example.org> <2@example.org>"
    assert made["Auto-Submitted"] == "auto-replied" and made["Reply-To"] is None
    assert made.get_content_type() == "multipart/alternative"


def test_its_last_lines_say_what_was_remembered_and_where_the_receipt_is() -> None:
    assert text_of(reply()) == (
        "40 m.\n\n> How long is it?\n\n-- \n"
        "4 of 12 exchanges of this thread were sent to the model (last 3 user messages).\n"
        f"What the model was sent: {SITE}/chat/{MAIL.thread}?debug=true#receipt-turn-1\n"
    )
    assert "4 of 12 exchanges" in html(reply()) and f'href="{SITE}/chat/' in html(reply())


@pytest.mark.parametrize(
    "mail",
    [MAIL, made_mail(external=True), made_mail(refused=["a.exe was not taken: why"])],
)
def test_an_answer_to_the_reply_is_its_senders_words_alone(mail: Mail) -> None:
    """What we send is cut again when it comes back as a quote."""
    quote = "\n".join(f"> {line}" for line in text_of(reply(mail)).splitlines())
    answer = f"Thanks.\n\nOn Wed, The Harbour wrote:\n{quote}\n"
    footer = (f"{SITE}/chat/{mail.thread}", remembered_words())
    held = Held(["40 m.", mail.text, *mail.refused], footer=footer)
    assert own_words(answer, held) == "Thanks."


def test_the_same_turn_gives_the_same_message_id_and_a_refused_one_its_own() -> None:
    assert reply()["Message-ID"] == reply(answer=replace(ANSWER, text="Else"))["Message-ID"]
    refused = replace(
        ANSWER, turn="", text="", state="failed", problem=Problem(code="x", message="Too long.")
    )
    assert reply(answer=refused)["Message-ID"] == f"<refused.{MAIL.id}@harbour.example>"
    assert text_of(reply(answer=refused)).startswith("Too long.")


def test_a_broken_answer_says_so_below_what_there_is() -> None:
    problem = Problem(code="cut", message="The provider ended the answer.")
    broken = replace(ANSWER, state="interrupted", problem=problem)
    assert text_of(reply(answer=broken)).startswith("40 m.\n\nThe provider ended the answer.\n")


def test_refused_files_come_first_and_an_external_sender_gets_no_link() -> None:
    mail = made_mail(refused=("tool.exe was not taken: no such files",), external=True)
    text = text_of(reply(mail))
    assert text.startswith("tool.exe was not taken: no such files\n\n40 m.")
    assert "4 of 12 exchanges" in text and SITE not in text and SITE not in html(reply(mail))


def test_a_long_chain_keeps_its_beginning_and_its_end() -> None:
    long = made_mail(chain=tuple(f"{number}@example.org" for number in range(100)))
    kept = str(reply(long)["References"]).split()
    assert len(kept) == LONGEST_CHAIN + 2
    assert (kept[0], kept[-1]) == ("<0@example.org>", "<2@example.org>")


@pytest.mark.parametrize("length", [20, 70, 76, 90, 230])
def test_ids_are_written_as_they_came_however_long(length: int) -> None:
    """Outlook's are longer than a line of the standard library, which encodes them."""
    ids = [f"{letter * length}@mail.example.org" for letter in "abc"]
    lines = answer_reply(
        made_mail(message_id=ids[2], chain=tuple(ids[:2])),
        ANSWER,
        words="",
        own=OWN,
        site=SITE,
        now=NOW,
    ).data.split(b"\r\n")
    assert f"In-Reply-To: <{ids[2]}>".encode() in lines
    at = lines.index(f"References: <{ids[0]}>".encode())
    assert lines[at + 1 : at + 3] == [f" <{one}>".encode() for one in ids[1:]]


@pytest.mark.parametrize("subject", ["Re: The quay", "AW: Der Kai", "re: x"])
def test_a_reply_to_a_reply_keeps_its_subject(subject: str) -> None:
    assert reply(made_mail(subject=subject))["Subject"] == subject


def test_a_long_question_is_quoted_shortly() -> None:
    made = text_of(reply(made_mail(text="A long line.\n" * 500)))
    assert made.count("> A long line.") == 6


@pytest.mark.parametrize(
    ("text", "made"),
    [
        ("One\ntwo\n\nthree", "<p>One<br />\ntwo</p>\n<p>three</p>"),
        ("# Title #", "<h1>Title</h1>"),
        ("- a **b**\n  1. c", "<li>a <strong>b</strong>\n<ol>\n<li>c</li>"),
        ("1. a\n2. b", "<ol>\n<li>a</li>\n<li>b</li>\n</ol>"),
        ("> quoted\n\nmine", "<blockquote>\n<p>quoted</p>\n</blockquote>\n<p>mine</p>"),
        ("~~old~~ new", "<p><s>old</s> new</p>"),
        ("| a | b |\n|--|--|\n| 1 | 2 |", "<td>1</td>\n<td>2</td>"),
        ("```py\na < b\n```\nc", "a &lt; b\n</code></pre>\n<p>c</p>"),
        ("`a<b`", "<p><code>a&lt;b</code></p>"),
        (
            "See https://example.org/a?b=1&c.",
            '<p>See <a href="https://example.org/a?b=1&amp;c">https://example.org/a?b=1&amp;c</a>'
            ".</p>",
        ),
        ("[here](https://example.org)", '<a href="https://example.org">here</a>'),
        ("[write](mailto:a@example.org)", '<a href="mailto:a@example.org">write</a>'),
        ("![plan](https://e.example/p.png)", '<a href="https://e.example/p.png">plan</a>'),
        ("[![plan](https://e.example/p.png)](https://e.example)", ">plan</a>"),
    ],
)
def test_markdown_becomes_html(text: str, made: str) -> None:
    assert made in mailed_html(text)


@pytest.mark.parametrize(
    "text",
    [
        "<script>x()</script>",
        "![x](https://evil.example/x.png)",
        "![x](data:image/png;base64,AAAA)",
        '<img src="https://evil.example/x.png">',
        "[x](javascript:x())",
        "[x](JaVaScRiPt:x())",
        "[x](data:text/html,x)",
        "[x](file:///etc/passwd)",
        "[x]: javascript:x()\n\n[x]",
        'https://evil.example/"onmouseover="x()',
        '[x](https://evil.example "a\\" onmouseover=x")',
        '<a href="https://evil.example" onclick="x()">x</a>',
    ],
)
def test_nothing_in_it_is_loaded_or_runs(text: str) -> None:
    page = lxml_html.fromstring(f"<div>{mailed_html(text)}</div>")
    for element in page.iter():
        assert element.tag in ("div", "p", "a", "br")
        assert set(element.attrib) <= {"href", "title"}
        assert element.get("href", "https:").startswith(("https:", "mailto:"))


@pytest.mark.parametrize(
    "text", ["[" * 40_000, "a|" * 3_000 + "\n" + "-|" * 3_000 + "\n" + "x\n" * 3_000]
)
def test_what_takes_long_to_format_stays_as_it_is_written(text: str) -> None:
    assert mailed_html(text).startswith("<pre") and mailed_html(text).count(text[:50]) >= 1


NASTY = st.text(alphabet="a\r\n\t\x00\ud800é\u2028<>@:,;\"'*`#- \x7f", max_size=60)


@given(NASTY, NASTY, NASTY)
def test_no_text_breaks_a_reply_or_adds_a_header(subject: str, text: str, said: str) -> None:
    clean = subject.replace("\ud800", "?"), text.replace("\ud800", "?"), said.replace("\ud800", "?")
    found = read_head(b"From: ada@example.org\r\n\r\n")
    mail = made_mail(subject=" ".join(clean[0].split()), text=clean[1], sender=found.sender)
    made = reply(mail, replace(ANSWER, text=clean[2]))
    assert made["To"] == "ada@example.org" and len(made.keys()) == 11
    assert made["Bcc"] is None
