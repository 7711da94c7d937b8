"""A quote's worth falls with the room that it takes."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from chatsite.history.lexical.index import FREE, worth

scores = st.floats(min_value=-20, max_value=40)
costs = st.integers(min_value=0, max_value=200_000)


@given(score=scores, cost=st.integers(min_value=0, max_value=FREE))
def test_a_short_quote_keeps_its_score(score: float, cost: int) -> None:
    assert worth(score, cost) == score


@given(score=scores, cost=costs, more=st.integers(min_value=1, max_value=200_000))
def test_worth_never_rises_with_the_price(score: float, cost: int, more: int) -> None:
    assert worth(score, cost + more) <= worth(score, cost)


@given(score=scores, cost=st.integers(min_value=FREE, max_value=100_000))
def test_each_doubling_beyond_that_takes_the_same(score: float, cost: int) -> None:
    once, twice = (worth(score, cost * factor) for factor in (2, 4))
    assert worth(score, cost) - once > 0
    assert abs((worth(score, cost) - once) - (once - twice)) < 1e-9


@given(cost=costs, score=scores, more=st.floats(min_value=0.01, max_value=20))
def test_of_two_quotes_that_cost_the_same_the_better_hit_is_worth_more(
    cost: int, score: float, more: float
) -> None:
    assert worth(score + more, cost) > worth(score, cost)
