"""Which older turns are asked about and what is kept then: every edge of the rules."""

from __future__ import annotations

from dataclasses import replace

import pytest

from chatsite.history.policies.triage import TriagePlan, plan_triage, triage_reasons
from chatsite.history.values.shortened import shorten, shorten_answer
from chatsite.history.values.transcript import Entry, Turn
from chatsite.messages import Message, TokenCount, ToolCall
from tests.history.older import firsts, triage_terms, turn, turns_of


def planned(count: int, **said: object) -> TriagePlan:
    return plan_triage(turns_of(count), triage_terms(**said))


def kept(plan: TriagePlan, chosen: frozenset[int] | None = frozenset()) -> list[int]:
    sent = ("within_length", "relevant")
    return [
        first
        for first, (reason, _) in sorted(triage_reasons(plan, chosen).items())
        if reason in sent
    ]


class TestWhoIsAsked:
    def test_the_newest_are_certain_and_the_others_are_asked_about(self) -> None:
        plan = planned(12)
        assert firsts(plan.candidates) == [1, 3, 5, 7, 9, 11, 13]
        assert firsts(plan.certain) == [15, 17, 19, 21, 23]
        assert plan.left_out == {}

    @pytest.mark.parametrize(
        ("count", "said"),
        [
            (0, {}),
            (3, {"always_include_recent": 0}),
            (7, {"skip_selection_threshold": 7}),
            (5, {"skip_selection_threshold": 0}),
            (4, {"skip_selection_threshold": 0}),
            (12, {"always_include_recent": 12}),
            (12, {"always_include_recent": 100}),
            (12, {"use_selection": False}),
        ],
    )
    def test_where_nothing_is_to_choose_no_model_is_asked_and_everything_is_kept(
        self, count: int, said: dict[str, object]
    ) -> None:
        plan = planned(count, **said)
        assert plan.candidates == ()
        assert firsts(plan.certain) == firsts(turns_of(count))
        assert kept(plan, None) == kept(plan, frozenset()) == firsts(plan.certain)

    def test_one_more_than_the_threshold_is_asked_about(self) -> None:
        plan = planned(4, skip_selection_threshold=3, always_include_recent=2)
        assert (firsts(plan.candidates), firsts(plan.certain)) == ([1, 3], [5, 7])

    def test_nothing_need_be_certain(self) -> None:
        plan = planned(4, always_include_recent=0)
        assert (len(plan.candidates), plan.certain) == (4, ())
        assert kept(plan) == []


class TestLookback:
    @pytest.mark.parametrize(("lookback", "oldest"), [(4, 3), (5, 1), (6, 1), (1, 9)])
    def test_older_turns_are_left_out(self, lookback: int, oldest: int) -> None:
        plan = planned(5, lookback_count=lookback)
        assert firsts([*plan.candidates, *plan.certain])[0] == oldest
        assert set(plan.left_out) == set(range(1, oldest, 2))

    def test_none_looks_at_nothing(self) -> None:
        plan = planned(5, lookback_count=0)
        assert (plan.candidates, plan.certain) == ((), ())
        assert plan.left_out[9] == "older than this message"

    def test_background_turns_take_no_place_in_it(self) -> None:
        path = [turn(1), turn(3, source="scheduled"), turn(5, source="briefing"), turn(7)]
        plan = plan_triage(path, triage_terms(lookback_count=2))
        assert firsts(plan.certain) == [1, 7]
        assert triage_reasons(plan, None)[3] == ("over_length", "")

    def test_what_was_left_out_by_a_person_takes_its_place_but_is_never_shown(self) -> None:
        hidden = turn(5)
        hidden = Turn((replace(hidden.entries[0], excluded=True), hidden.entries[1]))
        path = [turn(1), turn(3), hidden, turn(7)]
        plan = plan_triage(path, triage_terms(lookback_count=3, always_include_recent=0))
        assert firsts([*plan.candidates, *plan.certain]) == [3, 7]
        assert plan.left_out[5] == ""

    def test_an_answer_that_was_left_out_leaves_its_turn_in(self) -> None:
        half = turn(1)
        half = Turn((half.entries[0], replace(half.entries[1], excluded=True)))
        assert firsts(plan_triage([half], triage_terms()).certain) == [1]

    def test_nothing_above_the_marker_is_shown(self) -> None:
        path = turns_of(5)
        marked = Turn((replace(path[2].entries[0], forgets_above=True), *path[2].entries[1:]))
        inside = plan_triage([*path[:2], marked, *path[3:]], triage_terms())
        assert firsts(inside.certain) == [5, 7, 9]
        assert inside.left_out == {1: "", 3: ""}
        below = plan_triage(path, triage_terms(), marker=11)
        assert below.certain == ()


class TestRecency:
    def ages(self, *hours: float | None, **said: object) -> TriagePlan:
        """Turns of these ages, oldest first; none are asked about."""
        path = [turn(1 + 2 * place, hours=age) for place, age in enumerate(hours)]
        return plan_triage(path, triage_terms(use_selection=False, **said))

    def test_it_is_measured_from_the_newest_turn_and_inclusive(self) -> None:
        plan = self.ages(30.0, 25.01, 25.0, 1.0, context_recency_hours=24, context_min_messages=0)
        assert firsts(plan.certain) == [5, 7]
        assert plan.left_out[1] == "more than 24 hours older than the newest turn"

    @pytest.mark.parametrize(("least", "kept"), [(0, [5]), (1, [5]), (2, [3, 5]), (3, [1, 3, 5])])
    def test_the_newest_stay_however_old_they_are(self, least: int, kept: list[int]) -> None:
        plan = self.ages(99, 50, 0, context_recency_hours=0.5, context_min_messages=least)
        assert firsts(plan.certain) == kept

    def test_it_is_off_without_hours(self) -> None:
        plan = self.ages(9999, 0, context_recency_hours=0, context_min_messages=0)
        assert firsts(plan.certain) == [1, 3]

    def test_each_older_turn_is_judged_by_itself(self) -> None:
        plan = self.ages(1, 99, 0, context_recency_hours=2, context_min_messages=1)
        assert firsts(plan.certain) == [1, 5]

    def test_an_unknown_time_leaves_nothing_out(self) -> None:
        said = {"context_recency_hours": 1, "context_min_messages": 0}
        assert firsts(self.ages(None, 99, 0, **said).certain) == [1, 5]
        assert firsts(self.ages(99, 50, None, **said).certain) == [1, 3, 5]

    def test_the_widest_window_reaches_before_the_calendar(self) -> None:
        said = {"context_recency_hours": 1_000_000, "context_min_messages": 0}
        assert firsts(self.ages(10_000, 0, **said).certain) == [1, 3]

    def test_a_report_that_came_later_makes_a_turn_no_newer(self) -> None:
        old, new = turn(1, hours=50), turn(4, hours=0)
        report = Message(id="r", role="assistant", content="Done.", source="briefing")
        reported = Turn((*old.entries, Entry(message=report, seq=3, at=new.entries[0].at)))
        settings = triage_terms(context_recency_hours=1, context_min_messages=0)
        assert firsts(plan_triage([reported, new], settings).certain) == [4]


class TestSelected:
    def test_the_chosen_are_kept_with_the_certain_in_their_order(self) -> None:
        plan = planned(8)
        assert kept(plan, frozenset({5, 1})) == [1, 5, 7, 9, 11, 13, 15]
        found = triage_reasons(plan, frozenset({5, 1}))
        assert found[1] == ("relevant", "chosen by a fast model")
        assert found[3] == ("not_relevant", "a fast model left it out")
        assert found[15] == ("within_length", "within the newest 5 turns")

    def test_an_empty_choice_is_a_choice(self) -> None:
        assert kept(planned(8), frozenset()) == [7, 9, 11, 13, 15]

    def test_without_a_choice_all_of_the_lookback_is_kept(self) -> None:
        plan = planned(30)
        assert kept(plan, None) == list(range(11, 61, 2))
        found = triage_reasons(plan, None)
        assert found[11][1] == "within the last 25 turns; no model has chosen among them"
        assert found[9] == ("over_length", "older than the last 25 turns")

    def test_one_turn_is_told_as_one(self) -> None:
        said = {"lookback_count": 1, "skip_selection_threshold": 0, "always_include_recent": 0}
        plan = planned(2, **said)
        assert triage_reasons(plan, None) == {
            1: ("over_length", "older than the last turn"),
            3: ("within_length", "within the last turn; no model has chosen among them"),
        }
        plan = planned(2, **said | {"lookback_count": 2, "always_include_recent": 1})
        assert triage_reasons(plan, frozenset())[3] == ("within_length", "within the newest turn")

    def test_what_is_no_candidate_can_not_be_chosen(self) -> None:
        assert kept(planned(30), frozenset({1, 2, 999})) == [51, 53, 55, 57, 59]

    def test_every_turn_has_a_reason(self) -> None:
        path = [turn(1), turn(3, source="scheduled"), *turns_of(30)[2:]]
        for chosen in (None, frozenset[int](), frozenset({21})):
            assert set(triage_reasons(plan_triage(path, triage_terms()), chosen)) == set(
                firsts(path)
            )


class TestShortening:
    @pytest.mark.parametrize(
        ("text", "characters", "expected"),
        [
            ("abcdef", 0, "abcdef"),
            ("abcdef", 6, "abcdef"),
            ("abcdef", 7, "abcdef"),
            ("abcdef", 5, "abcde […shortened]"),
            ("你好世界", 2, "你好 […shortened]"),
            ("", 3, ""),
        ],
    )
    def test_the_beginning_is_kept_and_marked(
        self, text: str, characters: int, expected: str
    ) -> None:
        assert shorten(text, characters) == expected

    def test_only_answers_are_cut_and_counted_again(self) -> None:
        tokens = TokenCount(count=300, tokenizer="o200k", basis="counted")
        answer = Message.assistant("long " * 200, id="a", metadata="[1, 2]")
        entry = Entry(message=replace(answer, tokens=tokens), seq=2)
        cut = shorten_answer(entry, 10)
        assert cut.message.content == "long long  […shortened]"
        assert cut.message.metadata == "", "it belongs to the whole text"
        assert cut.message.tokens is not None
        assert 0 < cut.message.tokens.count < 20
        assert cut.message.tokens.basis == "estimated"
        for same in (
            shorten_answer(entry, 0),
            shorten_answer(entry, 5000),
            shorten_answer(replace(entry, message=replace(entry.message, role="user")), 10),
        ):
            assert same.message.content == answer.content
        assert shorten_answer(entry, 0) is entry

    def test_calls_stay(self) -> None:
        call = ToolCall(id="c", name="search")
        asked = Message.assistant("Let me look that up", id="a", calls=(call,))
        cut = shorten_answer(Entry(message=asked, seq=1), 3).message
        assert (cut.content, cut.calls) == ("Let […shortened]", (call,))
