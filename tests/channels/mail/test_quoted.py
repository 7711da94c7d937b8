"""What a mail quotes, and its signature, don't reach the model; answers between quotes do."""

from __future__ import annotations

import time

import pytest

from chatsite.channels.mail.incoming.quoted import own_words

QUOTE = "> How long is the quay?\n> Ada"
WROTE = [
    "On Tue, 3 Nov 2026 at 10:12, The Harbour <harbour@example.org> wrote:",
    "On Tue, 3 Nov 2026 at 10:12, The Harbour\n<harbour@example.org> wrote:",
    "Am 03.11.2026 um 10:12 schrieb The Harbour:",
    "The Harbour <harbour@example.org> schrieb am Di., 3. Nov. 2026, 10:12:",
    "Le mar. 3 nov. 2026 à 10:12, The Harbour <harbour@example.org> a écrit :",
    "El mar, 3 nov 2026 a las 10:12, The Harbour (<harbour@example.org>) escribió:",
    "Il giorno mar 3 nov 2026 alle ore 10:12 The Harbour ha scritto:",
    "Em ter., 3 de nov. de 2026 às 10:12, The Harbour escreveu:",
    "Op di 3 nov 2026 om 10:12 schreef The Harbour <harbour@example.org>:",
    "Den tis 3 nov. 2026 kl 10:12 skrev The Harbour <harbour@example.org>:",
    "W dniu 3.11.2026 o 10:12, The Harbour pisze:",
]


@pytest.mark.parametrize("line", WROTE)
@pytest.mark.parametrize("quote", [QUOTE, "How long is the quay?\nAda"])
def test_the_answered_mail_below_is_cut_with_the_line_that_introduces_it(
    line: str, quote: str
) -> None:
    assert own_words(f"It is 40 m long.\n\n{line}\n\n{quote}\n") == "It is 40 m long."


@pytest.mark.parametrize(
    "block",
    [
        "From: The Harbour <h@example.org>\nSent: Tuesday\nTo: Ada\nSubject: The quay\n\nHow long?",
        "Von: The Harbour\nGesendet: Dienstag\nAn: Ada\nBetreff: Der Kai\n\nWie lang?",
        "*De :* Le port\n*Envoyé :* mardi\n*À :* Ada\n*Objet :* Le quai\n\nQuoi ?",
        "-----Original Message-----\nFrom: The Harbour\n\nHow long?",
        "________________________________\nFrom: The Harbour\nSent: Tuesday\n\nHow long?",
    ],
)
def test_a_block_of_headers_below_is_cut(block: str) -> None:
    assert own_words(f"It is 40 m long.\n\n{block}") == "It is 40 m long."


def test_a_quote_without_an_introduction_at_the_end_is_cut() -> None:
    assert own_words(f"It is 40 m long.\n\n{QUOTE}\n\n") == "It is 40 m long."


@pytest.mark.parametrize(
    "end", ["-- \nAda Lovelace\nHarbour office", "--\nAda", "Sent from my phone"]
)
def test_a_signature_is_cut(end: str) -> None:
    assert own_words(f"It is 40 m long.\n{end}") == "It is 40 m long."
    assert own_words(f"It is 40 m long.\n{end}\n\n{WROTE[0]}\n{QUOTE}") == "It is 40 m long."


def test_answers_between_quotes_are_kept_with_the_quotes() -> None:
    text = (
        "On Tue, The Harbour <h@example.org> wrote:\n"
        "> How long is the quay?\n\n40 m.\n\n> And the crane?\n\nIt is free.\n-- \nAda"
    )
    assert own_words(text) == text.partition("\n-- ")[0]


def test_an_answer_below_the_quote_keeps_it() -> None:
    text = f"{WROTE[0]}\n{QUOTE}\n\nIt is 40 m long."
    assert own_words(text) == text


def test_a_quote_that_a_program_broke_is_no_answer() -> None:
    text = f"It is 40 m.\n\n{WROTE[0]}\n> How long is\nthe quay\n> here?"
    assert own_words(text) == "It is 40 m."


@pytest.mark.parametrize(
    "text",
    [
        "On Monday I wrote:\nnothing at all, and so did she.",
        "From: here it looks fine.\nThe quay is long.",
        "a -- b\n---\nmore",
        "The price > 9,000 is high.",
    ],
)
def test_ordinary_text_stays(text: str) -> None:
    assert own_words(text) in (text, text.strip())


@pytest.mark.parametrize("text", ["> only a quote", "-- \nonly a signature", ""])
def test_where_nothing_else_is_there_it_stays(text: str) -> None:
    assert own_words(text) == text.strip()


@pytest.mark.parametrize(
    "line",
    [
        *("Am schrieb schrieb " * 20 + ":", "On a:", "> > >", "From: x\nTo: y", "--"),
        *("schrieb am 12345:", "schrieb am 12345:\n" * 40 + "\n", " " * 499 + ":"),
    ],
)
def test_no_text_takes_long(line: str) -> None:
    began = time.monotonic()
    for end in ("", "> q\nanswer"):
        own_words(f"{line}\n" * (4_900 // (line.count("\n") + 1)) + end)
    own_words(line * 50_000)
    assert time.monotonic() - began < 10
