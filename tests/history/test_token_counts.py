"""Counts of tokens: the estimate against what tokenizers made of the same texts, and sums."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from chatsite.history import estimate, estimate_message, tokens_of
from chatsite.history.room import known_tokens, weakest
from chatsite.messages import Attachment, Message, ToolCall
from conformance_kit.cases import with_tokens
from tests.examples import some

DATA = Path(__file__).parents[1] / "data"

# Texts of many kinds, with what three tokenizers make of them; the file says where both are from.
MEASURED = json.loads((DATA / "token_counts.json").read_text("utf-8"))["texts"]
TOKENIZERS = ("o200k_base", "cl100k_base", "smollm2")


def most(measured: dict[str, Any]) -> int:
    return max(int(measured[tokenizer]) for tokenizer in TOKENIZERS)


@pytest.mark.parametrize("measured", MEASURED, ids=lambda one: str(one["kind"]))
def test_an_estimate_reaches_what_any_tokenizer_counts(measured: dict[str, Any]) -> None:
    assert 0.98 * most(measured) <= estimate(measured["text"]) <= 1.35 * most(measured)


def test_estimates_are_no_more_than_a_tenth_too_high_on_average() -> None:
    assert len(MEASURED) >= 20
    shares = [estimate(one["text"]) / most(one) for one in MEASURED]
    assert sum(shares) / len(shares) <= 1.1


def test_the_estimate_of_a_long_text_is_that_of_its_parts() -> None:
    for one in MEASURED:
        long = (one["text"] + "\n") * 60
        assert 0.97 * 60 * most(one) <= estimate(long) <= 1.4 * 60 * most(one), one["kind"]


@settings(deadline=None, derandomize=True, database=None, max_examples=some(300))
@given(one=st.text(max_size=40), other=st.text(max_size=40))
def test_more_lines_never_count_less(one: str, other: str) -> None:
    assert estimate(f"{one}x\n{other}") >= estimate(f"{one}x")
    assert estimate(one) > 0 or not one


def test_calls_reasoning_and_files_count() -> None:
    empty = estimate_message(Message.assistant(None, id="1"))
    assert empty > 0
    call = ToolCall(id="c", name="search", arguments={"q": "rain"})
    file = Attachment(id="f", name="a.png", size=1, modality="image")
    for message in (
        Message.assistant(None, id="1", calls=(call,)),
        Message.assistant(None, id="1", reasoning="Let me think."),
        Message.user(None, file, id="1"),
    ):
        assert estimate_message(message) > empty


def test_a_known_count_overrides_the_estimate() -> None:
    message = Message.user("word " * 100, id="1")
    assert tokens_of(message) == estimate_message(message)
    assert tokens_of(with_tokens(message, 7)) == known_tokens(with_tokens(message, 7)).count == 7
    with pytest.raises(ValueError, match="message 1 has no token count"):
        known_tokens(message)


def test_a_sum_has_the_basis_of_its_weakest_part() -> None:
    assert weakest([]) == "counted"
    assert weakest(["reported", "reported"]) == "reported"
    assert weakest(["reported", "counted"]) == "counted"
    assert weakest(["reported", "counted", "estimated"]) == "estimated"
