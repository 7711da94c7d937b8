"""`low_water=auto`: the mark that the model's prices suggest, a number before anything reads it."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chatsite.errors import BadSetting
from chatsite.history import Settings
from chatsite.history.decision.fit import cut_key
from chatsite.history.settings.low_water import (
    DEARER,
    LEAST,
    MOST,
    WITHOUT_PRICE,
    low_water_by_price,
    memory_price,
)
from chatsite.history.settings.resolve import Sources
from chatsite.history.settings.stored_settings import read_settings, show_settings, store_settings
from chatsite.providers.base.provider import Price

shares = st.floats(0, 1)


def resolved(value: object, *, cached: float | None = None) -> Settings:
    template = {"historyPolicy": "tokens", "historyLowWater": value}
    return Sources(environment={}, url={}, template=template, cached_price=cached).resolve()


@pytest.mark.parametrize(
    ("cached", "mark"), [(None, 50), (0, 35), (0.1, 55), (0.25, 72), (0.5, 86), (1, 90)]
)
def test_the_marks_are_those_of_the_document(cached: float | None, mark: int) -> None:
    assert low_water_by_price(cached) == mark


@given(shares)
def test_it_is_the_highest_mark_at_which_memory_is_hardly_dearer(cached: float) -> None:
    mark = low_water_by_price(cached)
    prices = [memory_price(one, cached=cached) for one in range(LEAST, MOST + 1)]
    assert LEAST <= mark <= MOST
    assert prices[mark - LEAST] <= DEARER * min(prices)
    assert all(price > DEARER * min(prices) for price in prices[mark - LEAST + 1 :])


@given(shares, shares)
def test_the_less_a_cache_saves_the_more_is_remembered(one: float, other: float) -> None:
    less, more = sorted((one, other))
    assert low_water_by_price(less) <= low_water_by_price(more)


@pytest.mark.parametrize("mark", [20, 50, 75])
@pytest.mark.parametrize("cached", [0.0, 0.1, 0.5, 1.0])
def test_the_price_is_that_of_the_requests_of_a_period(mark: int, cached: float) -> None:
    """Counted request by request, of a room of 5,000 tokens and messages of 100."""
    room, message = 5_000, 100
    size = room * mark // 100
    anew, read, remembered, requests = float(size), 0.0, 0, 0
    while size < room:
        read += 0 if not requests else size
        remembered += size
        size, anew, requests = size + message, anew + message, requests + 1
    counted = (anew + cached * read) / remembered
    assert memory_price(mark, cached=cached) == pytest.approx(counted, rel=0.05)


def test_auto_is_a_number_wherever_it_is_read() -> None:
    settings = resolved("auto", cached=0.1)
    assert settings.low_water.value == 55
    assert settings.low_water.source == "template"
    assert cut_key(settings) == cut_key(resolved(55)), "the same cut as with the number itself"
    assert resolved("auto").low_water.value == WITHOUT_PRICE


def test_a_receipt_has_the_number_and_what_was_set() -> None:
    stored = store_settings(resolved("auto", cached=0.25))
    assert stored["low_water"] == {"value": 72, "said": [{"source": "template", "raw": "auto"}]}
    read = read_settings(stored)
    assert read.low_water.value == 72, "whatever the prices are when it is read"
    shown = show_settings(read)["low_water"]
    assert (shown["value"], shown["said"][0]["raw"]) == (72, "auto")


@pytest.mark.parametrize("text", ["0", "101", "Auto", "automatic", "50%"])
def test_anything_else_is_refused_and_says_what_is_allowed(text: str) -> None:
    with pytest.raises(BadSetting, match="a whole number from 1 to 100, or auto"):
        Sources(environment={"HISTORY_LOW_WATER": text}, url={}, template={}).resolve()
    assert resolved(text).low_water.source == "built in"


@pytest.mark.parametrize(
    ("price", "share"),
    [
        (Price(2.0, 0.2, 8.0), 0.1),
        (Price(2.0, None, 8.0), 1.0),
        (Price(0.0, None, 0.0), 1.0),
        (Price(0.0, 0.0, 0.0), 1.0),
    ],
)
def test_a_price_says_what_a_cached_token_costs_of_a_new_one(price: Price, share: float) -> None:
    assert price.cached_share == pytest.approx(share)
