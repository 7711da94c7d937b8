"""The numbers of a request as people count them."""

from __future__ import annotations

from dataclasses import replace

import pytest

from chatsite.history import Entry, NotLoaded
from tests.history.decision.test_decide import answer, call, decision_on, result, user

# A greeting, three exchanges (one with a tool), and what is being written.
FIRST = (answer(1), user(2), answer(3), user(4), call(5, "c"), result(6, "c"), answer(7))
TALK = (*FIRST, user(8), answer(9))


def draft(seq: int) -> Entry:
    return replace(user(seq), draft=True)


@pytest.mark.parametrize(
    ("policy", "length", "counted"),
    [
        ("all", 20, [3, 3, 0, 0]),
        ("lastN", 3, [3, 2, 0, 0]),
        ("lastN", 1, [3, 0, 0, 0]),
        ("none", 20, [3, 0, 0, 0]),
    ],
)
def test_a_message_and_what_answers_it_is_one_and_a_greeting_none(
    policy: str, length: int, counted: list[int]
) -> None:
    found = decision_on([*TALK, draft(10)], policy, length=length).exchanges
    assert found.to_stored() == counted


def test_what_is_pinned_above_the_line_is_counted_apart() -> None:
    entries = [user(1, pinned=True), answer(2), user(3), answer(4), user(5), answer(6), draft(7)]
    assert decision_on(entries, "lastN", length=2).exchanges.to_stored() == [3, 1, 1, 0]


def test_a_stored_message_counts_and_a_background_task_does_not() -> None:
    entries = [user(1), answer(2), user(3, source="scheduled"), answer(4), user(5)]
    assert decision_on(entries).exchanges.to_stored() == [2, 2, 0, 0]


def test_what_was_not_loaded_is_counted_by_its_user_messages() -> None:
    not_loaded = NotLoaded(messages=9, users=4, background=1, tokens=90, first=1, last=9)
    entries = [user(10), answer(11), draft(12)]
    found = decision_on(entries, "lastN", length=2, not_loaded=not_loaded).exchanges
    assert found.to_stored() == [4, 1, 0, 0]
