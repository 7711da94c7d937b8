"""Fitting a strategy's slots into the room: priority, age, system texts, and duplicates."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chatsite.history.evidence import StrategySlot
from chatsite.history.policies.strategy import SlotLayout, fit_slots
from chatsite.messages import Message, Role, TokenCount

TEN = dict.fromkeys(range(1, 30), 10)


def text(content: str, role: Role = "user", tokens: int = 10) -> Message:
    count = TokenCount(count=tokens, tokenizer="test", basis="counted")
    return Message(id=content, role=role, content=content, tokens=count)


def slot(name: str, *items: int | Message, priority: float = 0) -> StrategySlot:
    return StrategySlot(name=name, priority=priority, items=items)


def texts(layout: SlotLayout) -> list[str]:
    return [str(placed.message.content) for placed in layout.texts]


def dropped(layout: SlotLayout) -> list[int | str]:
    return [g.item if isinstance(g.item, int) else str(g.item.content) for g in layout.dropped]


def test_everything_is_kept_if_there_is_room() -> None:
    layout = fit_slots([slot("history", 1, 2), slot("more", text("t"))], room=30, tokens_of_seq=TEN)
    assert layout.kept == {1: "history", 2: "history"}
    assert texts(layout) == ["t"]
    assert (layout.dropped, layout.tokens) == ((), 30)


def test_the_lowest_priority_is_dropped_first_and_within_a_slot_the_oldest() -> None:
    slots = [slot("notes", 1, 4, priority=2), slot("history", 5, 6, 7, priority=1)]
    layout = fit_slots(slots, room=20, tokens_of_seq=TEN)
    assert layout.kept == {1: "notes", 4: "notes"}
    assert dropped(layout) == [5, 6, 7]
    assert [item.slot for item in layout.dropped] == ["history"] * 3
    assert fit_slots(slots, room=10, tokens_of_seq=TEN).kept == {4: "notes"}


def test_of_equal_priorities_the_slot_added_last_is_dropped_first() -> None:
    layout = fit_slots([slot("one", 1, 2), slot("two", 3, 4)], room=30, tokens_of_seq=TEN)
    assert dropped(layout) == [3]


def test_system_texts_are_dropped_only_when_nothing_else_is_left() -> None:
    rules = slot("system", text("rules", "system"), priority=-5)
    slots = [rules, slot("history", 1, 2, priority=9), slot("aside", text("aside"), priority=9)]
    layout = fit_slots(slots, room=10, tokens_of_seq=TEN)
    assert texts(layout) == ["rules"]
    assert dropped(layout) == ["aside", 1, 2]
    assert dropped(fit_slots(slots, room=9, tokens_of_seq=TEN)) == ["aside", 1, 2, "rules"]


def test_a_stored_message_counts_once_in_the_slot_that_is_dropped_last() -> None:
    slots = [slot("all", 1, 2, 3), slot("important", 1, 1, priority=1)]
    assert fit_slots(slots, room=30, tokens_of_seq=TEN).tokens == 30
    layout = fit_slots(slots, room=10, tokens_of_seq=TEN)
    assert layout.kept == {1: "important"}
    assert dropped(layout) == [2, 3]
    equal = [slot("first", 1), slot("second", 1)]
    assert fit_slots(equal, room=10, tokens_of_seq=TEN).kept == {1: "first"}


def test_the_oldest_is_dropped_first_in_whatever_order_the_strategy_added_them() -> None:
    layout = fit_slots([slot("history", 7, 3, 5)], room=10, tokens_of_seq=TEN)
    assert dropped(layout) == [3, 5]
    assert list(fit_slots([slot("h", 7, 3, 5)], room=30, tokens_of_seq=TEN).kept) == [3, 5, 7]


def test_texts_are_placed_before_the_history_unless_they_were_added_after_it() -> None:
    slots = [
        slot("first", text("a"), text("b", "assistant")),
        slot("history", text("c"), 1, text("d")),
        slot("system", text("e", "system")),
        slot("last", text("f")),
    ]
    layout = fit_slots(slots, room=100, tokens_of_seq=TEN)
    assert [(t.message.content, t.place, t.slot) for t in layout.texts] == [
        ("e", "system", "system"),
        ("a", "before", "first"),
        ("b", "before", "first"),
        ("c", "before", "history"),
        ("d", "after", "history"),
        ("f", "after", "last"),
    ]


def test_a_text_keeps_its_place_when_the_history_is_dropped() -> None:
    slots = [slot("history", 1), slot("last", text("f"), priority=1)]
    (placed,) = fit_slots(slots, room=10, tokens_of_seq=TEN).texts
    assert placed.place == "after"


def test_messages_that_may_not_be_chosen_are_passed_over() -> None:
    layout = fit_slots([slot("history", 1, 99, 2)], room=10, tokens_of_seq=TEN)
    assert layout.kept == {2: "history"}
    assert dropped(layout) == [1]


def test_a_text_without_a_token_count_is_a_programming_error() -> None:
    with pytest.raises(ValueError, match="has no token count"):
        fit_slots([slot("a", Message.user("hi", id="x"))], room=9, tokens_of_seq={})


ROLES: Sequence[Role] = ("system", "user", "assistant")
ITEMS = st.integers(1, 12) | st.tuples(st.sampled_from(ROLES), st.integers(1, 30))
SLOTS = st.lists(st.tuples(st.sampled_from([0, 1, -1.5]), st.lists(ITEMS, max_size=5)), max_size=5)


def build_slots(drawn: list[tuple[float, list[int | tuple[Role, int]]]]) -> list[StrategySlot]:
    return [
        StrategySlot(
            name=f"slot {number}",
            priority=priority,
            items=tuple(
                item if isinstance(item, int) else text(f"{number}-{place}", *item)
                for place, item in enumerate(items)
            ),
        )
        for number, (priority, items) in enumerate(drawn)
    ]


def priority_of(slots: Sequence[StrategySlot], name: str) -> float:
    return slots[int(name.split()[1])].priority


@given(drawn=SLOTS, room=st.integers(0, 200), sizes=st.lists(st.integers(1, 40), min_size=10))
def test_less_room_keeps_a_subset_and_drops_lower_priorities_first(
    drawn: list[tuple[float, list[int | tuple[Role, int]]]], room: int, sizes: list[int]
) -> None:
    slots, tokens = build_slots(drawn), dict(enumerate(sizes, 1))
    layout = fit_slots(slots, room=room, tokens_of_seq=tokens)
    assert layout.tokens <= room
    assert layout == fit_slots(slots, room=room, tokens_of_seq=tokens)
    kept = sum(tokens[seq] for seq in layout.kept)
    assert layout.tokens == kept + sum(
        t.message.tokens.count for t in layout.texts if t.message.tokens
    )
    assert list(layout.kept) == sorted(layout.kept)

    whole = fit_slots(slots, room=10_000, tokens_of_seq=tokens)
    assert not whole.dropped
    assert set(layout.kept) <= set(whole.kept) and set(texts(layout)) <= set(texts(whole))
    assert [s for s in texts(whole) if s in texts(layout)] == texts(layout)
    less = fit_slots(slots, room=room * 2 // 3, tokens_of_seq=tokens)
    assert set(less.kept) <= set(layout.kept) and set(texts(less)) <= set(texts(layout))
    assert len(layout.kept) + len(layout.texts) + len(layout.dropped) == len(whole.kept) + len(
        whole.texts
    )

    rules = [g for g in layout.dropped if isinstance(g.item, Message) and g.item.role == "system"]
    left = [*layout.kept.values(), *(t.slot for t in layout.texts if t.place != "system")]
    assert not (rules and left)
    others = [priority_of(slots, g.slot) for g in layout.dropped if g not in rules]
    if others and left:
        assert max(others) <= min(priority_of(slots, name) for name in left)
