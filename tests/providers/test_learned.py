"""What is kept of refusals, and what it makes of a model."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from chatsite.providers.base.learned import Learned
from chatsite.providers.base.provider import Model
from tests.examples import some

MODEL = Model(provider="p", name="m", label="m", window=8_192, tools=True)
SIZE = st.none() | st.integers(min_value=1, max_value=10_000_000)


@settings(deadline=None, derandomize=True, database=None, max_examples=some(500))
@given(sent=st.integers(min_value=1_000, max_value=8_000), limit=SIZE, needed=SIZE)
def test_after_any_refusal_as_too_long_the_prompt_is_shorter_and_possible(
    sent: int, limit: int | None, needed: int | None
) -> None:
    learned = Learned()
    assert learned.too_long(MODEL, sent=sent, reply=500, limit=limit, needed=needed)
    now = learned.of("p:m").applied(MODEL)
    room = now.prompt_room(min(500, now.window // 2))
    assert 0 < room < sent


def test_the_numbers_of_a_refusal_set_the_room() -> None:
    learned = Learned()
    learned.too_long(MODEL, sent=3_500, reply=500, limit=4_096, needed=4_215)
    room = learned.of("p:m").applied(MODEL).prompt_room(500)
    assert 3_596 * 3_500 / 4_215 * 0.97 <= room <= 3_596 * 3_500 / 4_215


@pytest.mark.parametrize(("limit", "needed"), [(None, None), (200_000, 200_001)])
def test_a_short_prompt_was_refused_for_something_else(
    limit: int | None, needed: int | None
) -> None:
    learned = Learned()
    assert not learned.too_long(MODEL, sent=260, reply=500, limit=limit, needed=needed)
    assert learned.of("p:m").applied(MODEL) == MODEL


def test_a_server_that_states_another_window_is_asked_anew() -> None:
    learned = Learned()
    learned.too_long(MODEL, sent=3_500, reply=500, limit=4_096, needed=4_215)
    larger = replace(MODEL, window=16_384)
    now = learned.of("p:m").applied(larger)
    assert (now.window, now.most) == (16_384, None)
    assert now.factor > 1, "its tokenizer is the same"
    learned.too_long(larger, sent=9_000, reply=500, limit=8_192, needed=None)
    assert learned.of("p:m").applied(larger).window == 8_192
    assert learned.of("p:m").applied(MODEL).window == MODEL.window


@pytest.mark.parametrize("helped", [True, False])
def test_a_field_is_left_out_for_good_only_where_that_helped(helped: bool) -> None:
    learned = Learned()
    learned.leave_out("p:m", ["tools", "seed"])
    assert not learned.of("p:m").applied(MODEL).tools
    if helped:
        learned.answered("p:m")
    learned.refused_again("p:m")
    assert learned.of("p:m").left_out == ({"tools", "seed"} if helped else set())
    assert learned.of("p:m").applied(MODEL).tools is not helped
