"""What a cut drops and what it leaves: the newest turns, within their share of the room."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chatsite.history import Decision, Entry, Head, Transcript, Window, decide, resolve
from chatsite.history.path.guard import TurnSize, guard
from tests.history.decision.test_decide import answer, user

CURRENT = 1_000


def turns(*tokens: int, spared: Sequence[int] = ()) -> list[TurnSize]:
    """Turns at 1, 3, 5 and so on; `spared` are the numbers of those that a mark spares."""
    return [
        TurnSize(2 * place + 1, size, 2 * place + 1 in spared) for place, size in enumerate(tokens)
    ]


def kept(
    sizes: Sequence[TurnSize], *, limit: int, fixed: int = 0, low_water: int = 50
) -> list[int]:
    cut = guard(sizes, fixed=fixed, current=CURRENT, limit=limit, low_water=low_water)
    return [size.first for size in sizes if size.first not in cut.dropped]


class TestTheLowWaterMark:
    def test_is_a_share_of_the_room_that_what_is_always_sent_leaves(self) -> None:
        assert kept(turns(*[50] * 10), limit=400) == [13, 15, 17, 19]
        assert kept(turns(*[50] * 10), limit=1_000, fixed=600) == [13, 15, 17, 19]

    def test_is_a_share_of_what_spared_turns_leave(self) -> None:
        sizes = turns(200, *[50] * 10, spared=[1])
        assert kept(sizes, limit=600) == [1, 15, 17, 19, 21]


class TestTheNewestTwo:
    @pytest.mark.parametrize(
        ("limit", "left"), [(200, [5, 7]), (199, [7]), (100, [7]), (99, []), (300, [5, 7])]
    )
    def test_stay_where_they_fit_and_the_last_one_first(self, limit: int, left: list[int]) -> None:
        assert kept(turns(*[100] * 4), limit=limit, low_water=1) == left

    def test_stay_beside_a_former_cut_that_left_less(self) -> None:
        sizes = turns(*[100] * 4)
        now = guard(sizes, fixed=0, current=CURRENT, limit=300, low_water=1, previous=7)
        assert now.dropped == {1, 3}
        assert now.cut == 5

    def test_nothing_is_skipped_so_a_turn_above_one_without_room_is_left_out(self) -> None:
        assert kept(turns(10, 10, 500), limit=400) == []

    def test_pins_come_first(self) -> None:
        sizes = turns(300, 100, 100, spared=[1])
        assert kept(sizes, limit=400) == [1, 5]
        assert kept(sizes, limit=399) == [1]


class TestWhatIsSaidOfDroppedTurns:
    def test_no_room_is_said_of_the_newest_of_them_while_they_do_not_fit(self) -> None:
        sizes = turns(10, 70, 10, 80, 60, 30)
        cut = guard(sizes, fixed=0, current=CURRENT, limit=150, low_water=100)
        assert cut.cut == 9
        assert cut.no_room == {7}
        assert cut.dropped - cut.no_room == {1, 3, 5}

    def test_a_pin_without_room_keeps_the_others_out_and_they_say_so(self) -> None:
        path = [user(1, 40, pinned=True), user(2, 20), user(3, 90, pinned=True), user(4)]
        decision = decision_on(path, historyPolicy="all", historyTokens=120)
        assert in_place(decision) == [3, 4]
        assert [(v["reason"], v["sentence"]) for v in decision.to_dict()["verdicts"][:2]] == [
            ("over_budget", "left out to stay within the budget of 120 tokens"),
            ("above_cut", "left out because turns that are pinned or replied to fill the room"),
        ]


class TestAFormerCut:
    @staticmethod
    def cut(sizes: Sequence[TurnSize], previous: int, *, limit: int) -> int | None:
        return guard(
            sizes, fixed=0, current=CURRENT, limit=limit, low_water=50, previous=previous
        ).cut

    def test_stays_while_it_fits(self) -> None:
        assert self.cut(turns(*[50] * 10), 5, limit=400) == 5
        assert self.cut(turns(*[50] * 10), 3, limit=400) == 13

    def test_gives_way_when_it_leaves_less_than_a_new_one_would(self) -> None:
        """A larger window, or a pin that was taken away: the room would stay empty for long."""
        assert self.cut(turns(*[50] * 10), 15, limit=350) == 15
        assert self.cut(turns(*[50] * 10), 15, limit=450) == 13

    def test_of_another_path_counts_for_nothing(self) -> None:
        assert self.cut(turns(*[50] * 10), CURRENT + 1, limit=400) == 13


SIZES = st.lists(st.tuples(st.integers(1, 90), st.booleans()), max_size=12).map(
    lambda drawn: [TurnSize(2 * n + 1, tokens, mark) for n, (tokens, mark) in enumerate(drawn)]
)


@given(
    sizes=SIZES,
    limit=st.integers(0, 600),
    more=st.integers(0, 300),
    low_water=st.integers(1, 100),
    previous=st.none() | st.integers(0, 30),
)
def test_more_room_or_more_turns_keep_the_tail_or_the_share_of_the_room_less_one_turn(
    sizes: list[TurnSize], limit: int, more: int, low_water: int, previous: int | None
) -> None:
    def kept_of(some: list[TurnSize], limit: int) -> list[TurnSize]:
        cut = guard(
            some, fixed=0, current=CURRENT, limit=limit, low_water=low_water, previous=previous
        )
        return [size for size in some if size.first not in cut.dropped]

    few = kept_of(sizes[len(sizes) // 2 :], limit)
    many = kept_of(sizes, limit + more)
    loose = [size for size in many if not size.spared]
    dropped = [size for size in sizes if not size.spared and size not in many]
    room = limit + more - sum(size.tokens for size in sizes if size.spared)
    assert sum(size.tokens for size in many) <= limit + more
    if not set(few) <= set(many) and room >= 0:
        tail = sum(size.tokens for size in loose)
        assert tail + dropped[-1].tokens > room * low_water // 100


# ---- two chats in which the message just before was dropped ------------------------------------
def chat(count: int, tokens: int, *, pinned: Sequence[int] = ()) -> list[Entry]:
    """`count` turns of a question and an answer of `tokens` together, and the current message."""
    path: list[Entry] = []
    for seq in range(1, 2 * count, 2):
        path += [user(seq, tokens // 4), answer(seq + 1, tokens - tokens // 4)]
    path = [replace(entry, pinned=entry.seq in pinned) for entry in path]
    return [*path, user(2 * count + 1)]


def decision_on(path: Sequence[Entry], **template: object) -> Decision:
    return decide(
        Transcript(entries=tuple(path)),
        resolve(environment={}, url={}, template={"historyPolicy": "lastN", **template}),
        head=Head.of(None),
        window=Window(100_000, 100),
        agent="demo",
    )


def in_place(decision: Decision) -> list[int]:
    return [int(message.id[1:]) for message in decision.request]


def test_a_larger_length_sends_no_less_of_the_newest() -> None:
    """20 turns of 100 tokens in 700: half of the room is three turns, of five all but one fit."""
    long = decision_on(chat(20, 100), historyLength=20, historyTokens=700)
    short = decision_on(chat(20, 100), historyLength=5, historyTokens=700)
    assert in_place(short) == list(range(33, 42))
    assert in_place(long) == list(range(35, 42))
    larger = chat(20, 290)
    assert in_place(decision_on(larger, historyLength=20, historyTokens=700)) == list(range(37, 42))


@pytest.mark.parametrize("budget", [700, 900])
def test_two_pinned_messages_leave_the_last_answer_in_place(budget: int) -> None:
    path = chat(64, 200, pinned=[1, 5])
    small = [
        replace(e, message=replace(e.message, tokens=user(1, 18).message.tokens))
        if e.seq in (1, 2, 5, 6)
        else e
        for e in path
    ]
    decision = decision_on(small, historyPolicy="all", historyTokens=budget)
    assert in_place(decision)[:4] == [1, 2, 5, 6]
    assert in_place(decision)[-5:] == [125, 126, 127, 128, 129]
    assert decision.tokens <= budget
