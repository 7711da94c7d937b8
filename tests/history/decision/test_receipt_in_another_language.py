"""A receipt as it is shown has no English beside the catalogue; stored, it keeps its own."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from chatsite.history.decision.receipt import show_receipt
from chatsite.history.lexical.sharing import NEAR, SHARES, show_why
from chatsite.history.policies.cuts import WHY_SWITCHED_OFF
from chatsite.history.policies.lexical import NOT_SEARCHED
from chatsite.history.receipts.replay import StoredRequest, rebuild_messages
from chatsite.history.settings.offers import SettingSources, offers
from chatsite.history.settings.table import ENVIRONMENT_NAMES
from conformance_kit.strategies.adapter import counted_head
from tests.history.decision.test_golden_receipts import CASES, receipt
from tests.pseudo_language import is_said, pseudo_language

SHARED = f'{SHARES}"tea", "milk" and "rain" with your message'
NEARBY = f'{NEAR}"tea" was said'


def sentences(shown: dict[str, Any]) -> Iterator[tuple[str, str]]:
    """What a person reads of a receipt, with its place."""
    yield "in words", shown["in_words"]
    for number, verdict in enumerate(shown["verdicts"]):
        yield f"verdict {number}", verdict["sentence"]
    for note in shown["notes"]:
        yield "note", note
    if shown["locked"]:
        yield "lock", shown["lock_reason"]
    own = shown["settings"]["conversation"]
    for name, setting in (shown["settings"] | own).items():
        if name != "conversation":
            yield from ((f"{name} of {one['source']}", one["why"]) for one in setting["said"])


@pytest.mark.parametrize("name", CASES)
def test_a_receipt_has_no_sentence_outside_of_the_catalogue(name: str) -> None:
    with pseudo_language():
        found = list(sentences(receipt(name, "shown")))
    assert len(found) > 20
    assert {place: text for place, text in found if not is_said(text)} == {}


@pytest.mark.parametrize("name", CASES)
def test_a_stored_receipt_is_shown_in_the_language_of_who_looks_at_it(name: str) -> None:
    stored = receipt(name, "stored")
    with pseudo_language():
        shown = show_receipt(stored)
    assert {place: text for place, text in sentences(shown) if not is_said(text)} == {}
    assert show_receipt(stored) == receipt(name, "shown"), "nothing of it is kept for the next one"


def test_notes_and_reasons_without_values_are_stored_in_english() -> None:
    with pseudo_language():
        stored = receipt("triage off", "stored")
        quoted = receipt("lexical", "stored")
    assert WHY_SWITCHED_OFF in stored["notes"]
    whys = {verdict.get("why") for verdict in quoted["verdicts"]}
    assert "it says tea" in whys, "a sentence of the search stays as it was found"
    assert NOT_SEARCHED not in quoted["notes"]


@pytest.mark.parametrize(
    ("stored", "shown"),
    [
        (SHARED, '⟦it shares ⟦"tea", "milk" and "rain"⟧ with your message⟧'),
        (NEARBY, '⟦it stands close to where "tea" was said⟧'),
        (f'{SHARES}"tea" and "milk" with your message', None),
        ("nobody knows this sentence", "⟦nobody knows this sentence⟧"),
    ],
)
def test_the_words_that_a_passage_shares_are_values_of_a_sentence(
    stored: str, shown: str | None
) -> None:
    assert show_why(stored) == stored
    with pseudo_language():
        said = show_why(stored)
    assert is_said(said)
    if shown:
        assert said == shown


@pytest.mark.parametrize(
    ("environment", "url"),
    [
        ({"HISTORY_POLICY": "none"}, {}),
        ({"HISTORY_URL": "off"}, {}),
        ({"HISTORY_URL": "staff"}, {}),
        ({"HISTORY_MAX_LENGTH": "3"}, {"historyLength": "9"}),
        ({"HISTORY_MAX_TOKENS": "300"}, {"historyTokens": "900"}),
        ({"HISTORY_MAX_TOKENS": "300"}, {"historyLength": "90"}),
        ({}, {"historyLength": "many", "historyPolicy": "lastM", "historyTokens": "0"}),
        ({}, {"history_length": "7", "historySelector": "triage"}),
    ],
)
def test_why_a_choice_does_not_count_comes_from_the_catalogue(
    environment: dict[str, str], url: dict[str, str]
) -> None:
    assert set(environment) <= set(ENVIRONMENT_NAMES)
    sources = SettingSources(
        environment=environment, url=url, template={}, conversation=url, url_allowed=False
    )
    allowed = SettingSources(environment=environment, url=url, template={}, conversation=url)
    with pseudo_language():
        for one in (sources, allowed):
            settings = one.resolve()
            offered = offers(one, settings)
            whys = [offer.why for offer in offered.all if offer.why]
            # What a receipt stores in English is said where that is shown.
            claims = (settings.policy, settings.length, settings.tokens, settings.selector)
            refused = [
                said.why
                for claim in claims
                for said in claim.said
                if said.outcome in ("bad", "locked", "not allowed")
            ]
            assert [why for why in (*whys, *refused) if not is_said(why)] == []


def test_what_a_rebuilt_request_lacks_comes_from_the_catalogue() -> None:
    with pseudo_language():
        for name in CASES:
            kept = StoredRequest(
                agent="demo", receipt=receipt(name, "stored"), entries=(), summaries={}
            )
            _, differences = rebuild_messages(kept, counted_head())
            assert differences
            assert [one for one in differences if not is_said(one)] == []
