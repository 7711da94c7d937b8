"""What of a strategy's slots fits: priority, age, system texts, and what counts once."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chatsite.history.policies.strategy_slots import SlotLayout, fit_slots
from chatsite.history.values.evidence import StrategySlot
from chatsite.messages import Message, Role, TokenCount

TEN = dict.fromkeys(range(1, 30), 10)


def text(said: str, role: Role = "user", tokens: int = 10) -> Message:
    count = TokenCount(count=tokens, tokenizer="test", basis="counted")
    return Message(id=said, role=role, content=said, tokens=count)


def slot(name: str, *items: int | Message, priority: float = 0) -> StrategySlot:
    return StrategySlot(name=name, priority=priority, items=items)


def said(laid: SlotLayout) -> list[str]:
    return [str(placed.message.content) for placed in laid.texts]


def gave_way(laid: SlotLayout) -> list[int | str]:
    return [g.item if isinstance(g.item, int) else str(g.item.content) for g in laid.dropped]


def test_with_room_everything_is_kept() -> None:
    laid = fit_slots([slot("history", 1, 2), slot("more", text("t"))], room=30, tokens_of_seq=TEN)
    assert laid.kept == {1: "history", 2: "history"}
    assert said(laid) == ["t"]
    assert (laid.dropped, laid.tokens) == ((), 30)


def test_the_lowest_priority_gives_way_first_and_in_a_slot_the_oldest() -> None:
    slots = [slot("notes", 1, 4, priority=2), slot("history", 5, 6, 7, priority=1)]
    laid = fit_slots(slots, room=20, tokens_of_seq=TEN)
    assert laid.kept == {1: "notes", 4: "notes"}
    assert gave_way(laid) == [5, 6, 7]
    assert [gone.slot for gone in laid.dropped] == ["history"] * 3
    assert fit_slots(slots, room=10, tokens_of_seq=TEN).kept == {4: "notes"}


def test_of_equal_priorities_the_slot_added_last_gives_way_first() -> None:
    laid = fit_slots([slot("one", 1, 2), slot("two", 3, 4)], room=30, tokens_of_seq=TEN)
    assert gave_way(laid) == [3]


def test_system_texts_give_way_when_nothing_else_is_left() -> None:
    rules = slot("system", text("rules", "system"), priority=-5)
    slots = [rules, slot("history", 1, 2, priority=9), slot("aside", text("aside"), priority=9)]
    laid = fit_slots(slots, room=10, tokens_of_seq=TEN)
    assert said(laid) == ["rules"]
    assert gave_way(laid) == ["aside", 1, 2]
    assert gave_way(fit_slots(slots, room=9, tokens_of_seq=TEN)) == ["aside", 1, 2, "rules"]


def test_a_stored_message_counts_once_in_the_slot_that_gives_way_last() -> None:
    slots = [slot("all", 1, 2, 3), slot("important", 1, 1, priority=1)]
    assert fit_slots(slots, room=30, tokens_of_seq=TEN).tokens == 30
    laid = fit_slots(slots, room=10, tokens_of_seq=TEN)
    assert laid.kept == {1: "important"}
    assert gave_way(laid) == [2, 3]
    equal = [slot("first", 1), slot("second", 1)]
    assert fit_slots(equal, room=10, tokens_of_seq=TEN).kept == {1: "first"}


def test_the_oldest_gives_way_first_however_the_strategy_ordered_them() -> None:
    laid = fit_slots([slot("history", 7, 3, 5)], room=10, tokens_of_seq=TEN)
    assert gave_way(laid) == [3, 5]
    assert list(fit_slots([slot("h", 7, 3, 5)], room=30, tokens_of_seq=TEN).kept) == [3, 5, 7]


def test_texts_stand_before_the_history_unless_they_were_added_after_it() -> None:
    slots = [
        slot("first", text("a"), text("b", "assistant")),
        slot("history", text("c"), 1, text("d")),
        slot("system", text("e", "system")),
        slot("last", text("f")),
    ]
    laid = fit_slots(slots, room=100, tokens_of_seq=TEN)
    assert [(t.message.content, t.place, t.slot) for t in laid.texts] == [
        ("e", "system", "system"),
        ("a", "before", "first"),
        ("b", "before", "first"),
        ("c", "before", "history"),
        ("d", "after", "history"),
        ("f", "after", "last"),
    ]


def test_a_text_keeps_its_place_when_the_history_gave_way() -> None:
    slots = [slot("history", 1), slot("last", text("f"), priority=1)]
    (placed,) = fit_slots(slots, room=10, tokens_of_seq=TEN).texts
    assert placed.place == "after"


def test_what_may_not_be_chosen_is_passed_over() -> None:
    laid = fit_slots([slot("history", 1, 99, 2)], room=10, tokens_of_seq=TEN)
    assert laid.kept == {2: "history"}
    assert gave_way(laid) == [1]


def test_a_text_without_tokens_is_a_mistake_of_ours() -> None:
    with pytest.raises(ValueError, match="has no token count"):
        fit_slots([slot("a", Message.user("hi", id="x"))], room=9, tokens_of_seq={})


ROLES: Sequence[Role] = ("system", "user", "assistant")
ITEMS = st.integers(1, 12) | st.tuples(st.sampled_from(ROLES), st.integers(1, 30))
SLOTS = st.lists(st.tuples(st.sampled_from([0, 1, -1.5]), st.lists(ITEMS, max_size=5)), max_size=5)


def made(drawn: list[tuple[float, list[int | tuple[Role, int]]]]) -> list[StrategySlot]:
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
def test_less_room_keeps_a_part_and_nothing_of_higher_priority_goes_first(
    drawn: list[tuple[float, list[int | tuple[Role, int]]]], room: int, sizes: list[int]
) -> None:
    slots, tokens = made(drawn), dict(enumerate(sizes, 1))
    laid = fit_slots(slots, room=room, tokens_of_seq=tokens)
    assert laid.tokens <= room
    assert laid == fit_slots(slots, room=room, tokens_of_seq=tokens)
    kept = sum(tokens[seq] for seq in laid.kept)
    assert laid.tokens == kept + sum(t.message.tokens.count for t in laid.texts if t.message.tokens)
    assert list(laid.kept) == sorted(laid.kept)

    whole = fit_slots(slots, room=10_000, tokens_of_seq=tokens)
    assert not whole.dropped
    assert set(laid.kept) <= set(whole.kept) and set(said(laid)) <= set(said(whole))
    assert [s for s in said(whole) if s in said(laid)] == said(laid)
    less = fit_slots(slots, room=room * 2 // 3, tokens_of_seq=tokens)
    assert set(less.kept) <= set(laid.kept) and set(said(less)) <= set(said(laid))
    assert len(laid.kept) + len(laid.texts) + len(laid.dropped) == len(whole.kept) + len(
        whole.texts
    )

    rules = [g for g in laid.dropped if isinstance(g.item, Message) and g.item.role == "system"]
    left = [*laid.kept.values(), *(t.slot for t in laid.texts if t.place != "system")]
    assert not (rules and left)
    others = [priority_of(slots, g.slot) for g in laid.dropped if g not in rules]
    if others and left:
        assert max(others) <= min(priority_of(slots, name) for name in left)
