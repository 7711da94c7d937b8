"""What changed since the request before, and why it wasn't read from the cache."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from random import Random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chatsite.history.receipts.cache_miss import CacheReport, CacheRules, next_cut, report_cache
from chatsite.history.receipts.difference import SentRequest, compare_requests
from chatsite.providers.anthropic.reader import _usage as anthropic_usage
from chatsite.providers.base.provider import Price, Usage
from chatsite.providers.openai.reader import read_usage
from tests.examples import REPEATABLE
from tests.history.receipts.provoked import ANTHROPIC, ENGINE, OPENAI, PROVOKED, Talk

# Nine seeds for each of the 26 provocations.
SEEDS = range(9)
POLICIES: tuple[dict[str, Any], ...] = (
    {"historyPolicy": "all"},
    {"historyPolicy": "none"},
    {"historyPolicy": "lastN", "historyLength": 4},
    {"historyPolicy": "lastN", "historyLength": 6, "historyStep": 3},
    {"historyPolicy": "tokens", "historyTokens": 3_500},
)


def test_of_all_provoked_misses_19_of_20_get_the_right_cause() -> None:
    wrong: Counter[str] = Counter()
    for cause, provoke in PROVOKED:
        for seed in SEEDS:
            found = provoke(Random(seed)).cause
            wrong[f"{provoke.__name__}: {found}"] += found != cause
    made = len(PROVOKED) * len(SEEDS)
    assert made >= 200
    assert wrong.total() <= made // 20, +wrong


@REPEATABLE
@given(seed=st.integers(0, 2**32), policy=st.sampled_from(POLICIES))
def test_the_pieces_are_the_whole_prompt_and_begin_as_the_decision_says(
    seed: int, policy: dict[str, Any]
) -> None:
    talk = Talk(random=Random(seed), template=policy, tools=["clock"], tool_tokens=40)
    for turn in range(8):
        if turn == 5:
            talk.change(2 * talk.random.randint(0, 2), pinned=True)
        report = talk.ask()
        decision = talk.decision
        assert decision
        if turn == 0:
            continue
        now = [one for one in report.segments if one["change"] != "went"]
        assert sum(one["tokens"] for one in now) == decision.tokens
        stayed = sum(one["tokens"] for one in now if one["change"] == "stayed")
        assert stayed == decision.leading + 40


def test_what_came_and_went_is_named_with_its_numbers() -> None:
    talk = Talk(random=Random(1), template={"historyPolicy": "lastN", "historyLength": 3})
    for _ in range(4):
        report = talk.ask()
    runs = [(one["change"], one["first"], one["last"]) for one in report.segments if one["last"]]
    assert runs == [("went", 1, 2), ("moved", 3, 5), ("came", 6, 7)]


def test_a_request_that_only_grew_lost_nothing() -> None:
    talk = Talk(random=Random(1))
    reports = [talk.ask() for _ in range(6)]
    assert {report.cause for report in reports[1:]} == {""}
    assert all(one.predicted == one.reported == one.available for one in reports[1:])


def test_where_nobody_set_anything_receipts_are_compared_too() -> None:
    talk = Talk(random=Random(1), template={})
    reports = [talk.ask() for _ in range(25)]
    assert talk.last and "settings" not in talk.last.receipt
    assert {report.cause for report in reports[1:]} == {"", "cut"}


def test_an_edit_is_found_by_its_mark_and_named() -> None:
    talk = Talk(random=Random(1))
    for _ in range(6):
        talk.ask()
    talk.edit(4)
    report = talk.ask()
    assert report.cause == "edited"
    assert report.values["seq"] == 5 and report.values["after"] == 4
    assert [one["first"] for one in report.segments if one["change"] == "edited"] == [5]


def test_without_a_receipt_before_or_with_an_older_one_the_cause_is_not_known() -> None:
    talk = Talk(random=Random(1))
    talk.ask()
    before = talk.last
    talk.ask()
    assert before and talk.last
    assert report_cache(None, talk.last, OPENAI).cause == "unreadable"
    shown = replace(before, receipt={**before.receipt, "version": 2})
    assert report_cache(shown, talk.last, OPENAI).cause == "unreadable"
    empty = SentRequest(receipt={}, sizes={})
    assert report_cache(empty, talk.last, OPENAI).cause == "unreadable"


def test_an_engine_is_predicted_to_have_the_answer_that_it_wrote() -> None:
    talk = Talk(random=Random(1), rules=ENGINE)
    talk.ask(answer=400)
    before = talk.last
    talk.ask()
    assert before and talk.last

    def predicted(before: SentRequest, rules: CacheRules = ENGINE) -> int:
        assert talk.last
        return report_cache(before, talk.last, rules).predicted

    # A hosted model keeps prompts alone.
    prompt = predicted(before, replace(OPENAI, step=1))
    assert predicted(before) == prompt + 100
    # Changed since, or with reasoning, which isn't sent again.
    assert predicted(replace(before, edited=frozenset({2}))) == prompt
    thought = {**before.receipt, "reported": {"completion": 9_000}}
    assert predicted(replace(before, receipt=thought)) == prompt


def test_where_the_answer_before_is_not_sent_nothing_of_it_is_predicted() -> None:
    talk = Talk(random=Random(1), rules=ENGINE)
    talk.ask(answer=400)
    talk.change(1, excluded=True)
    report = talk.ask()
    assert report.predicted == report.reported
    talk.edit(0)
    report = talk.ask()
    assert report.predicted == report.reported


def test_a_receipt_without_marks_is_compared_by_its_messages() -> None:
    talk = Talk(random=Random(1))
    talk.ask()
    before = talk.last
    talk.ask()
    assert before and talk.last
    bare = {name: value for name, value in before.receipt.items() if name != "fingerprint"}
    changes = {change for change, _ in compare_requests(replace(before, receipt=bare), talk.last)}
    assert changes == {"stayed", "came"}


def test_of_a_provider_that_reports_nothing_only_changes_of_ours_are_told() -> None:
    talk = Talk(random=Random(1))
    for _ in range(6):
        talk.ask()
    before = talk.last
    talk.clock += 9_000
    talk.ask()
    assert before and talk.last
    silent = {**talk.last.receipt, "reported": {}}
    report = report_cache(before, replace(talk.last, receipt=silent), OPENAI)
    assert (report.cause, report.reported) == ("", None)


def test_after_tools_every_request_of_the_turn_is_counted() -> None:
    talk = Talk(random=Random(1))
    for _ in range(4):
        talk.ask()
    before = talk.last
    talk.ask()
    assert before and talk.last
    sent = talk.last.receipt["prompt_tokens"]
    rounds = [
        {"sent_tokens": sent, "leading": 0, "reported": {"prompt": sent, "cached": 2_048}},
        {"sent_tokens": sent + 100, "leading": sent, "reported": {"prompt": sent, "cached": 9}},
    ]
    now = replace(talk.last, receipt={**talk.last.receipt, "rounds": rounds})
    report = report_cache(before, now, replace(OPENAI, step=1))
    first = sum(one["tokens"] for one in report.segments if one["change"] == "stayed")
    assert report.reported == 2_057
    # The second prompt has fewer of the provider's tokens than of ours.
    assert report.predicted == first + sent * sent // (sent + 100)


@pytest.mark.parametrize("length", [3, 5, 8])
@pytest.mark.parametrize("step", [1, 2, 3])
def test_the_next_cut_of_a_length_comes_exactly_as_foretold(length: int, step: int) -> None:
    policy = {"historyPolicy": "lastN", "historyLength": length, "historyStep": step}
    talk = Talk(random=Random(length), template=policy)
    foretold: list[int] = []
    for _ in range(20):
        went = [one for one in talk.ask().segments if one["change"] == "went"]
        if went:
            assert foretold[-1] == 1
        elif foretold:
            assert foretold[-1] > 1
        assert talk.last
        ahead = next_cut(talk.last.receipt)
        assert ahead[0] and ahead[1]
        foretold.append(ahead[0])


def test_a_limit_is_reached_about_when_foretold() -> None:
    talk = Talk(random=Random(3), template={"historyPolicy": "tokens", "historyTokens": 6_000})
    talk.personality = "You are helpful."
    errors: list[int] = []
    foretold: int | None = None
    since = 0
    for _ in range(60):
        went = [one for one in talk.ask().segments if one["change"] == "went"]
        since += 1
        if went:
            if foretold:
                errors.append(abs(since - foretold))
            assert talk.last
            foretold, since = next_cut(talk.last.receipt)[0], 0
    assert errors and max(errors) <= 3


# ---- the numbers of three dialects -------------------------------------------------------------
def openai(prompt: int, cached: int) -> Usage:
    """As OpenAI reports from GPT-5.6 on."""
    details = {"cached_tokens": cached, "cache_write_tokens": prompt - cached}
    counts = {"prompt_tokens": prompt, "completion_tokens": 100, "total_tokens": prompt + 100}
    return read_usage({**counts, "prompt_tokens_details": details})


def anthropic(prompt: int, cached: int) -> Usage:
    """`input_tokens` are what is behind the last mark."""
    return anthropic_usage(
        {
            "input_tokens": 3,
            "cache_read_input_tokens": cached,
            "cache_creation_input_tokens": prompt - cached - 3,
            "output_tokens": 100,
        }
    )


def deepseek(prompt: int, cached: int) -> Usage:
    return read_usage(
        {
            "prompt_tokens": prompt,
            "completion_tokens": 100,
            "total_tokens": prompt + 100,
            "prompt_cache_hit_tokens": cached,
            "prompt_cache_miss_tokens": prompt - cached,
        }
    )


DIALECTS = {
    "openai": (openai, OPENAI, 1.25),
    "anthropic": (anthropic, ANTHROPIC, 1.25),
    "deepseek": (deepseek, replace(OPENAI, step=64, least=0), 1.0),
}


def billed(dialect: str, report: CacheReport, price: Price, usage: Usage) -> tuple[float, float]:
    """The bill by the provider's own arithmetic, and what was predicted of it."""
    write = DIALECTS[dialect][2]
    prompt, cached = usage.prompt or 0, usage.cached or 0
    fresh = (prompt - cached) * price.input * write
    bill = (fresh + cached * (price.cached or 0) + 100 * price.output) / 1e6
    predicted = price.cost(
        prompt=prompt,
        cached=report.predicted,
        written=prompt - report.predicted if usage.written is not None else 0,
        answer=usage.completion or 0,
    )
    return bill, predicted


@pytest.mark.parametrize("dialect", DIALECTS)
@pytest.mark.parametrize("policy", POLICIES, ids=lambda one: "-".join(map(str, one.values())))
def test_the_cached_tokens_and_the_bill_are_as_predicted(
    dialect: str, policy: dict[str, Any]
) -> None:
    read, rules, _ = DIALECTS[dialect]
    price = Price(2.0, 0.2, 10.0)
    talk = Talk(random=Random(7), rules=rules, template=policy, factor=0.93)
    predicted = reported = 0
    bills = guesses = 0.0
    for _ in range(25):
        before = talk.last
        report = talk.ask()
        assert talk.last
        told = talk.last.receipt["reported"]
        usage = read(told["prompt"], told["cached"])
        assert (usage.prompt, usage.cached) == (told["prompt"], told["cached"])
        if before is None:
            continue
        bill, guess = billed(dialect, report, price, usage)
        predicted, reported = predicted + report.predicted, reported + (report.reported or 0)
        bills, guesses = bills + bill, guesses + guess
    assert predicted == pytest.approx(reported, rel=0.05)
    assert guesses == pytest.approx(bills, rel=0.1)


def test_gemini_thinking_is_in_the_total_alone_and_is_paid_for() -> None:
    usage = read_usage({"completion_tokens": 102, "prompt_tokens": 758, "total_tokens": 1_725})
    assert usage == Usage(prompt=758, completion=967)
