"""What the answers of a conversation cost, shaped from what was reported of each."""

from __future__ import annotations

from typing import Any

import pytest

from chatsite.providers.base.provider import Price
from chatsite.providers.known.models import ModelFacts
from chatsite.turns.answer.costs import picture_costs

Answer = tuple[str, int, dict[str, Any]]
PRICE = Price(input=2.0, cached=0.2, output=10.0)


def facts(server: str, model: str) -> ModelFacts | None:
    return ModelFacts(window=100_000, price=PRICE, least_cached=1_024) if model == "dear" else None


def answer(
    seq: int, *, prompt: int | None = 4_000, cached: int | None = 3_600, **more: Any
) -> Answer:
    cost = PRICE.cost(prompt=prompt or 0, cached=cached or 0, answer=100)
    receipt: dict[str, Any] = {
        "reported": {"prompt": prompt, "cached": cached, "completion": 100, "cost": cost},
        "rounds": None,
        "provider": {"kind": "openai", "model": "dear"},
        "parts": {"current": [100, "estimated"]},
        "prompt_tokens": prompt,
    }
    return f"turn-{seq}", seq, receipt | more


def test_a_cost_is_split_into_what_was_cached_read_anew_and_written() -> None:
    found = picture_costs([answer(3)], facts)
    (one,) = found["answers"]
    assert (one["turn"], one["seq"], one["cached"]) == ("turn-3", 3, 90)
    assert one["parts"] == pytest.approx([0.00072, 0.0008, 0.001])
    assert (found["count"], found["dollars"]) == (1, True)
    assert found["total"] == pytest.approx(0.00252)


def test_the_parts_add_up_to_what_was_stored_though_prices_change() -> None:
    reported = {"prompt": 4_000, "cached": 3_600, "completion": 100, "cost": 1.0}
    (one,) = picture_costs([answer(3, reported=reported)], facts)["answers"]
    assert sum(one["parts"]) == pytest.approx(1.0)
    other = {"kind": "openai", "model": "unpriced"}
    (one,) = picture_costs([answer(3, reported=reported, provider=other)], facts)["answers"]
    assert one["parts"] == pytest.approx([3_600 / 4_100, 400 / 4_100, 100 / 4_100])


def test_where_one_price_is_not_known_all_are_told_in_tokens() -> None:
    free = answer(5, reported={"prompt": 50, "cached": 20, "completion": 10})
    found = picture_costs([answer(3), free], facts)
    assert [one["parts"] for one in found["answers"]] == [[3_600, 400, 100], [20, 30, 10]]
    assert (found["dollars"], found["total"]) == (False, 4_160)


def test_requests_of_a_turn_with_tools_are_added_up() -> None:
    rounds = [
        {"reported": {"prompt": 2_000, "cached": 1_500, "completion": 10}},
        {"reported": {"prompt": 2_100, "cached": 1_990, "completion": 20}},
    ]
    free = answer(7, rounds=rounds, reported={})
    (one,) = picture_costs([free], facts)["answers"]
    assert one["parts"] == [3_490, 610, 30]


def test_answers_of_which_nothing_was_reported_are_left_out() -> None:
    assert picture_costs([], facts)["answers"] == []
    found = picture_costs([answer(3, reported={}), answer(5, reported=None)], facts)
    assert (found["answers"], found["count"], found["total"]) == ([], 0, 0)


def test_the_newest_sixty_are_shown_and_all_are_summed() -> None:
    found = picture_costs([answer(seq) for seq in range(3, 289, 2)], facts)
    assert (found["count"], len(found["answers"])) == (143, 60)
    assert found["answers"][-1]["seq"] == 287
    assert found["total"] == pytest.approx(143 * 0.00252)


@pytest.mark.parametrize(
    ("second", "missed"),
    [
        (answer(5, prompt=4_200, cached=3_968), False),
        (answer(5, prompt=4_200, cached=0), True),
        (answer(5, prompt=4_200, cached=1_024), True),
        (answer(5, prompt=4_200, cached=None), False),
        # Nearly all of it is the new message, which no cache could have.
        (answer(5, prompt=4_200, cached=0, parts={"current": [4_000, "estimated"]}), False),
    ],
)
def test_a_miss_is_marked_where_the_prompt_before_was_read_anew(
    second: Answer, missed: bool
) -> None:
    found = picture_costs([answer(3, cached=0), second], facts)
    assert [one["missed"] for one in found["answers"]] == [False, missed]


def test_receipts_of_before_have_a_cost_and_no_miss() -> None:
    """Once they were stored as they are shown, with a list of parts."""
    old = answer(5, cached=0, parts=[{"name": "current", "tokens": 100}])
    found = picture_costs([answer(3), old, answer(7, parts=None, cached=0)], facts)
    assert [one["missed"] for one in found["answers"]] == [False] * 3


def test_a_prompt_too_short_for_the_cache_misses_nothing() -> None:
    short = [answer(seq, prompt=900, cached=0) for seq in (3, 5)]
    assert [one["missed"] for one in picture_costs(short, facts)["answers"]] == [False, False]
