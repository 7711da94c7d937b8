"""Prices are estimates from a published list, and nothing is priced that the list doesn't hold."""

from __future__ import annotations

import pytest

from chatsite.providers.base.provider import Price, reusable
from chatsite.providers.known.models import known_facts as facts_of


def price_of(provider: str, model: str) -> Price | None:
    facts = facts_of(provider, model)
    return facts.price if facts else None


@pytest.mark.parametrize(
    ("provider", "model", "known"),
    [
        ("openai", "gpt-4o-mini", True),
        ("openai", "gpt-4o-mini-2024-07-18", True),
        ("openai", "gpt-4o-mini-audio-preview", False),
        ("openai", "gpt-5.3", False),
        ("openai", "llama3", False),
        ("embedded", "gpt-4o-mini", False),
        ("echo", "echo", False),
    ],
)
def test_a_price_is_known_for_a_listed_model_and_its_dated_versions_alone(
    provider: str, model: str, known: bool
) -> None:
    assert (price_of(provider, model) is not None) is known


def test_a_dated_version_with_a_price_of_its_own_keeps_it() -> None:
    first, later = price_of("openai", "gpt-4o-2024-05-13"), price_of("openai", "gpt-4o-2024-11-20")
    assert first is not None and later is not None
    assert first.input == 2 * later.input


def test_reused_tokens_cost_less() -> None:
    price = price_of("openai", "gpt-4.1-mini")
    assert price is not None
    assert price.cost(prompt=1_000_000) == pytest.approx(0.40)
    assert price.cost(prompt=1_000_000, cached=1_000_000) == pytest.approx(0.10)
    assert price.cost(prompt=0, answer=1_000_000) == pytest.approx(1.60)


def test_short_beginnings_are_not_reused_and_long_ones_in_whole_steps() -> None:
    assert [reusable(n) for n in (0, 1_023, 1_024, 1_151, 1_152)] == [0, 0, 1_024, 1_024, 1_152]


def test_a_model_without_a_price_for_reused_input_takes_the_full_one() -> None:
    price = price_of("openai", "gpt-4")
    assert price is not None
    assert price.cost(prompt=8_192, cached=8_192) == price.cost(prompt=8_192)
