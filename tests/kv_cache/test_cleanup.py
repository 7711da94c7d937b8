"""Which turns a cleanup unloads, and which setting decides on its strategy."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chatsite.errors import BadSetting
from chatsite.history.path.guard import TurnSize
from chatsite.kv_cache.cleanup import (
    DEFAULT,
    STRATEGIES,
    make_room,
    resolve_cleanup,
    unload,
)
from tests.kv_cache.examples import repeatable

# Five older turns; a mark spares the second.
TURNS = [
    TurnSize(1, 100, False),
    TurnSize(3, 50, True),
    TurnSize(5, 200, False),
    TurnSize(9, 30, False),
    TurnSize(11, 120, False),
]

turns = st.lists(st.tuples(st.integers(0, 300), st.booleans()), max_size=8).map(
    lambda drawn: [TurnSize(2 * n + 1, tokens, spared) for n, (tokens, spared) in enumerate(drawn)]
)


@pytest.mark.parametrize(
    ("strategy", "room", "gone"),
    [
        ("keepSystemPromptOnly", 500, {1, 5, 9, 11}),
        ("keepSystemPromptAndHalf", 0, {1, 5}),
        ("keepSystemPromptAndFirstUserMessage", 0, {5, 9, 11}),
        ("keepSystemPromptAndLastUserMessage", 0, {1, 5, 9}),
        ("removeOldestMessages", 500, set()),
        ("removeOldestMessages", 499, {1}),
        ("removeOldestMessages", 399, {1, 5}),
        ("removeOldestMessages", 0, {1, 5}),
    ],
)
def test_each_strategy_keeps_the_turns_in_its_name_and_the_spared_ones(
    strategy: str, room: int, gone: set[int]
) -> None:
    """The oldest are unloaded, but for two of the others, which `make_room` unloads at last."""
    assert unload(strategy, TURNS, room=room, low_water=100) == gone


@pytest.mark.parametrize(("room", "gone"), [(750, {1}), (748, {1, 5}), (200, {1, 5})])
def test_the_low_water_mark_is_a_share_of_what_spared_turns_leave_of_the_room(
    room: int, gone: set[int]
) -> None:
    """The newest three that no mark spares take 350 tokens, half of what 50 leave of 750."""
    assert unload(DEFAULT, TURNS, room=room, low_water=50) == gone


def test_half_means_tokens_and_a_turn_across_the_middle_is_unloaded_unless_it_is_the_newest() -> (
    None
):
    turns = [
        TurnSize(1, 10, False),
        TurnSize(3, 10, False),
        TurnSize(5, 300, False),
        TurnSize(7, 10, False),
    ]
    assert unload("keepSystemPromptAndHalf", turns, room=0, low_water=50) == {1, 3, 5}
    assert unload("keepSystemPromptAndHalf", turns[:3], room=0, low_water=50) == {1, 3}


def test_the_first_turn_is_unloaded_too_if_it_alone_is_too_large() -> None:
    keep_first = "keepSystemPromptAndFirstUserMessage"
    assert make_room(keep_first, TURNS, room=150, low_water=50) == {5, 9, 11}
    assert make_room(keep_first, TURNS, room=149, low_water=50) == {1, 5, 9, 11}


def test_spared_turns_are_unloaded_last_and_the_oldest_of_them_first() -> None:
    spared = [TurnSize(1, 60, True), TurnSize(3, 60, False), TurnSize(5, 60, True)]
    assert make_room(DEFAULT, spared, room=120, low_water=50) == {3}
    assert make_room(DEFAULT, spared, room=119, low_water=50) == {1, 3}
    assert make_room(DEFAULT, spared, room=0, low_water=50) == {1, 3, 5}


@repeatable
@given(
    strategy=st.sampled_from(list(STRATEGIES)),
    turns=turns,
    room=st.integers(0, 1_000),
    low=st.integers(0, 100),
)
def test_afterwards_the_rest_fits_and_no_spared_turn_is_unloaded_before_the_others(
    strategy: str, turns: list[TurnSize], room: int, low: int
) -> None:
    gone = make_room(strategy, turns, room=room, low_water=low)
    stay = [turn for turn in turns if turn.first not in gone]
    assert gone <= {turn.first for turn in turns}
    assert sum(turn.tokens for turn in stay) <= room
    if any(turn.spared for turn in turns if turn.first in gone):
        assert all(turn.spared for turn in stay)
    by_strategy = unload(strategy, turns, room=room, low_water=low)
    assert by_strategy <= gone
    assert not any(turn.spared for turn in turns if turn.first in by_strategy)


def test_the_environment_overrides_the_template_and_the_default_removes_the_oldest() -> None:
    template = {"cacheCleanup": "keepSystemPromptOnly"}
    nobody = resolve_cleanup(environment=" ", template={})
    assert (nobody.value, nobody.source, nobody.passed_over) == (DEFAULT, "built in", ())
    agent = resolve_cleanup(environment="", template=template)
    assert (agent.value, agent.source) == ("keepSystemPromptOnly", "template")
    server = resolve_cleanup(environment="keepSystemPromptAndHalf", template=template)
    assert (server.value, server.source) == ("keepSystemPromptAndHalf", "environment")
    assert server.to_dict() == {
        "value": "keepSystemPromptAndHalf",
        "source": "environment",
        "words": "Keep the newer half",
        "passed_over": [
            "chatSettings.cacheCleanup keepSystemPromptOnly doesn't count: "
            "the environment sets CACHE_CLEANUP."
        ],
    }


@pytest.mark.parametrize("text", ["RemoveOldestMessages", "remove-oldest-messages", "removeOldest"])
def test_a_bad_environment_value_is_named_with_the_probable_one(text: str) -> None:
    with pytest.raises(BadSetting) as raised:
        resolve_cleanup(environment=text, template={})
    assert raised.value.message == (
        f"CACHE_CLEANUP='{text}' is not allowed. It is one of: {', '.join(STRATEGIES)}. "
        "removeOldestMessages was probably meant."
    )


@pytest.mark.parametrize("value", ["KeepSystemPromptOnly", "", 3, True, ["keepSystemPromptOnly"]])
def test_a_bad_template_value_is_passed_over_and_reported(value: object) -> None:
    found = resolve_cleanup(environment="", template={"cacheCleanup": value})
    assert (found.value, found.source) == (DEFAULT, "built in")
    assert len(found.passed_over) == 1
    assert "passed over. It is one of: keepSystemPromptOnly," in found.passed_over[0]
    meant = " keepSystemPromptOnly was probably meant." in found.passed_over[0]
    assert meant == (value == "KeepSystemPromptOnly")
