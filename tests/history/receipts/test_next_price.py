"""What the next request would cost: a range where nobody knows what the cache still has."""

from __future__ import annotations

from dataclasses import replace
from random import Random
from typing import Any

import pytest

from chatsite.history import Decision
from chatsite.history.receipts.cache_miss import CacheRules
from chatsite.history.receipts.next_price import NextPrice, RequestBefore, price_next
from chatsite.history.token_estimate import tokens_of
from chatsite.messages import Attachment, Message, TokenCount
from chatsite.providers.base.provider import CACHE_WRITE, Price
from tests.history.receipts.provoked import Talk

PRICES = Price(input=10.0, cached=1.0, output=50.0)
RULES = CacheRules(least=1_024, step=128, kept=(300, 3_600))


def talk_of(turns: int, **more: Any) -> Talk:
    talk = Talk(random=Random(1), rules=RULES, **more)
    for _ in range(turns):
        talk.ask()
    return talk


def decision_of(talk: Talk) -> Decision:
    assert talk.decision
    return talk.decision


def before_of(decision: Decision, *, seconds: float = 60, **reported: int) -> RequestBefore:
    """The request before took as many tokens by our count as the provider reported."""
    told = {"prompt": decision.tokens, "completion": 0, **reported}
    receipt = {"prompt_tokens": decision.tokens, "reported": told}
    return RequestBefore(receipt=receipt, seconds=seconds)


def prompt_of(price: NextPrice) -> tuple[Any, Any]:
    answer = price.answer or 0
    return pytest.approx(price.low - answer), pytest.approx(price.high - answer)


def test_a_first_request_costs_its_whole_prompt_and_says_nothing_of_an_answer() -> None:
    decision = decision_of(talk_of(1))
    price = price_next(decision, PRICES.cost, RULES, None)
    assert price.low == price.high == pytest.approx(decision.tokens * 10e-6)
    assert price.answer is None


@pytest.mark.parametrize(
    ("seconds", "low", "high"),
    [
        (60, "cached", "cached"),
        (300, "cached", "cached"),
        (301, "cached", "whole"),
        (3_600, "cached", "whole"),
        (3_601, "whole", "whole"),
    ],
)
def test_it_is_a_range_only_while_the_cache_may_have_been_emptied(
    seconds: float, low: str, high: str
) -> None:
    decision = decision_of(talk_of(6))
    kept = RULES.reusable(decision.leading)
    assert kept > 1_024
    costs = {
        "cached": (decision.tokens - kept) * 10e-6 + kept * 1e-6,
        "whole": decision.tokens * 10e-6,
    }
    price = price_next(decision, PRICES.cost, RULES, before_of(decision, seconds=seconds))
    assert prompt_of(price) == (costs[low], costs[high])


def test_where_nobody_says_how_long_it_is_kept_it_may_be_there_and_may_not() -> None:
    decision = decision_of(talk_of(6))
    price = price_next(decision, PRICES.cost, CacheRules(), before_of(decision, seconds=10**6))
    whole = decision.tokens * 10e-6
    assert prompt_of(price) == (whole - decision.leading * 9e-6, whole)


def test_a_beginning_that_is_too_short_for_the_cache_costs_what_all_costs() -> None:
    decision = decision_of(talk_of(6))
    rules = replace(RULES, least=decision.leading + 1)
    price = price_next(decision, PRICES.cost, rules, before_of(decision))
    assert price.low == price.high
    assert prompt_of(price)[0] == decision.tokens * 10e-6


def test_without_a_cheaper_price_for_the_cache_nothing_is_uncertain() -> None:
    decision = decision_of(talk_of(6))
    prices = Price(input=10.0, cached=None, output=50.0)
    price = price_next(decision, prices.cost, RULES, before_of(decision, seconds=900))
    assert price.low == price.high


def test_what_is_written_into_the_cache_costs_more_where_the_provider_counts_it() -> None:
    decision = decision_of(talk_of(6))
    rules = replace(RULES, step=1)
    before = before_of(decision, seconds=900, written=10)
    price = price_next(decision, PRICES.cost, rules, before)
    tokens, kept = decision.tokens, decision.leading
    fresh = (tokens - kept) * CACHE_WRITE
    assert prompt_of(price) == ((fresh + kept * 0.1) * 10e-6, tokens * CACHE_WRITE * 10e-6)


def test_descriptions_of_tools_are_read_from_the_cache_with_what_follows_them() -> None:
    decision = decision_of(talk_of(6, tools=["clock"], tool_tokens=2_000))
    rules = replace(RULES, step=1)
    price = price_next(decision, PRICES.cost, rules, before_of(decision))
    kept = decision.leading + 2_000
    assert prompt_of(price)[0] == (decision.tokens - kept) * 10e-6 + kept * 1e-6


def test_tokens_are_the_providers_where_it_said_how_many_it_counts() -> None:
    decision = decision_of(talk_of(6))
    before = before_of(decision, seconds=10**6, prompt=2 * decision.tokens)
    assert prompt_of(price_next(decision, PRICES.cost, RULES, before))[0] == decision.tokens * 20e-6
    for unusable in ("media", "server_cut"):
        cut = replace(before, receipt={**before.receipt, unusable: {"tokens": 1}})
        assert (
            prompt_of(price_next(decision, PRICES.cost, RULES, cut))[0] == decision.tokens * 10e-6
        )


def test_an_answer_is_as_long_as_the_last_ones_with_what_the_model_thinks() -> None:
    decision = decision_of(talk_of(6))
    answers = [tokens_of(one) for one in decision.request if one.role == "assistant"]
    usual = sorted(answers[-5:])[2]
    price = price_next(decision, PRICES.cost, RULES, before_of(decision))
    assert price.answer == pytest.approx(usual * 50e-6)
    thought = before_of(decision, completion=answers[-1] + 700)
    price = price_next(decision, PRICES.cost, RULES, thought)
    assert price.answer == pytest.approx((usual + 700) * 50e-6)


def test_it_says_what_most_of_it_is_for() -> None:
    cheap = replace(PRICES, output=0.0)
    talk = talk_of(2, personality="Be brief.")
    price = price_next(decision_of(talk), cheap.cost, RULES, None)
    assert price.part == "earlier"
    assert price_next(decision_of(talk), PRICES.cost, RULES, None).part == "answer"
    talk.ask(words=4_000)
    assert price_next(decision_of(talk), cheap.cost, RULES, None).part == "current"
    talk = talk_of(0, personality="Be brief.")
    talk.ask(result=3_000)
    talk.ask()
    assert price_next(decision_of(talk), cheap.cost, RULES, None).part == "results"
    tools = decision_of(talk_of(2, personality="Be brief.", tools=["clock"], tool_tokens=4_000))
    assert price_next(tools, cheap.cost, RULES, None).part == "tools"
    assert price_next(decision_of(talk_of(1)), cheap.cost, RULES, None).part == "agent"


def test_files_are_told_from_what_was_written() -> None:
    cheap = replace(PRICES, output=0.0)
    talk = talk_of(2, personality="Be brief.")
    file = Attachment(id="f", name="a.pdf", size=9, modality="document")
    said = Message.user("Look.", file, id="f1")
    counted = replace(said, tokens=TokenCount(count=9_000, tokenizer="t", basis="counted"))
    talk._store(said)
    talk.change(-1, message=counted)
    talk.ask()
    assert price_next(decision_of(talk), cheap.cost, RULES, None).part == "files"


def test_where_nothing_makes_up_half_nothing_is_named() -> None:
    talk = talk_of(1, personality="Be brief. " * 60, tools=["clock"], tool_tokens=150)
    talk.ask()
    price = price_next(decision_of(talk), replace(PRICES, output=0.0).cost, RULES, None)
    assert price.part == ""
