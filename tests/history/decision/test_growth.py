"""A conversation that grows turn by turn: how often the prompt's beginning changes (P15)."""

from __future__ import annotations

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from chatsite.history import (
    Decision,
    Entry,
    Evidence,
    Previous,
    Transcript,
    Window,
    decide,
    resolve,
)
from chatsite.messages import Message
from conformance_kit.cases import with_tokens
from conformance_kit.strategies.adapter import counted_head
from tests.examples import some

HEAD = counted_head()
LIMIT = 400


def decisions_of_growing_chat(sizes: list[int], template: dict[str, object]) -> list[Decision]:
    """One decision for each turn, with the previous receipt as storage returns it."""
    entries: list[Entry] = []
    decisions: list[Decision] = []
    for number, size in enumerate(sizes):
        user = with_tokens(Message.user("question", id=f"u{number}"), size)
        entries.append(Entry(message=user, seq=2 * number + 1))
        receipt = json.loads(json.dumps(decisions[-1].to_dict())) if decisions else {}
        decisions.append(
            decide(
                Transcript(entries=tuple(entries)),
                resolve(environment={}, url={}, template=template),
                head=HEAD,
                window=Window(LIMIT + 100, 100),
                evidence=Evidence(previous=Previous.from_dict(receipt)),
                agent="demo",
            )
        )
        answer = with_tokens(Message.assistant("answer", id=f"a{number}"), size)
        entries.append(Entry(message=answer, seq=2 * number + 2))
    return decisions


def moves(decisions: list[Decision]) -> int:
    """How often the cut changed."""
    cuts = [decision.cut for decision in decisions]
    return sum(after != before for before, after in zip(cuts, cuts[1:], strict=False))


@pytest.mark.slow
@settings(deadline=None, derandomize=True, database=None, max_examples=some(25))
@given(
    sizes=st.lists(st.integers(1, 40), min_size=20, max_size=60),
    low_water=st.sampled_from((25, 50, 75)),
)
def test_the_beginning_moves_at_most_once_per_tokens_between_low_water_and_limit(
    sizes: list[int], low_water: int
) -> None:
    decisions = decisions_of_growing_chat(
        sizes, {"historyPolicy": "all", "historyLowWater": low_water}
    )
    room = LIMIT - LIMIT * low_water // 100
    assert moves(decisions) <= 2 * sum(sizes) / room + 1
    assert all(decision.tokens <= LIMIT for decision in decisions)


def test_most_of_a_prompt_is_equal_to_the_previous_one() -> None:
    decisions = decisions_of_growing_chat([10] * 200, {"historyPolicy": "all"})
    same = sum(decision.leading for decision in decisions)
    assert same > 0.85 * sum(decision.tokens for decision in decisions)


def test_a_cut_from_other_settings_is_not_kept() -> None:
    sizes = [20] * 12
    *_, last = decisions_of_growing_chat(sizes, {"historyPolicy": "all", "historyLowWater": 25})
    assert last.cut is not None
    receipt = last.to_dict()
    entries = tuple(
        Entry(message=with_tokens(Message.user("?", id=f"u{number}"), 20), seq=number)
        for number in range(1, 40)
    )

    def cut_after(low_water: int) -> int | None:
        settings = resolve(
            environment={},
            url={},
            template={"historyPolicy": "all", "historyLowWater": low_water},
        )
        evidence = Evidence(previous=Previous.from_dict(receipt | {"cut": 25}))
        return decide(
            Transcript(entries=entries),
            settings,
            head=HEAD,
            window=Window(LIMIT + 100, 100),
            evidence=evidence,
            agent="demo",
        ).cut

    assert cut_after(25) == 25
    assert cut_after(75) != 25
