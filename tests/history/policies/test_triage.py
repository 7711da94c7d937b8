"""Which older turns triage asks about and which it sends: every edge of the rules."""

from __future__ import annotations

from dataclasses import replace

import pytest

from chatsite.history.path.shortened import shorten, shorten_answer
from chatsite.history.path.transcript import Entry, PathTurn
from chatsite.history.policies.triage import TriagePlan, plan_triage, triage_reasons
from chatsite.messages import Message, TokenCount, ToolCall
from tests.history.older_turns import firsts, triage_terms, turn, turns_of


def plan_for(count: int, **values: object) -> TriagePlan:
    return plan_triage(turns_of(count), triage_terms(**values))


def sent_turns(plan: TriagePlan, chosen: frozenset[int] | None = frozenset()) -> list[int]:
    sent_reasons = ("within_length", "relevant")
    return [
        first
        for first, (reason, _) in sorted(triage_reasons(plan, chosen).items())
        if reason in sent_reasons
    ]


class TestCandidates:
    def test_the_newest_are_certain_and_the_others_are_candidates(self) -> None:
        plan = plan_for(12)
        assert firsts(plan.candidates) == [1, 3, 5, 7, 9, 11, 13]
        assert firsts(plan.certain) == [15, 17, 19, 21, 23]
        assert plan.left_out == {}

    @pytest.mark.parametrize(
        ("count", "values"),
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
    def test_without_a_choice_to_make_no_model_is_asked_and_everything_is_sent(
        self, count: int, values: dict[str, object]
    ) -> None:
        plan = plan_for(count, **values)
        assert plan.candidates == ()
        assert firsts(plan.certain) == firsts(turns_of(count))
        assert sent_turns(plan, None) == sent_turns(plan, frozenset()) == firsts(plan.certain)

    def test_one_candidate_above_the_threshold_is_asked_about(self) -> None:
        plan = plan_for(4, skip_selection_threshold=3, always_include_recent=2)
        assert (firsts(plan.candidates), firsts(plan.certain)) == ([1, 3], [5, 7])

    def test_no_turn_has_to_be_certain(self) -> None:
        plan = plan_for(4, always_include_recent=0)
        assert (len(plan.candidates), plan.certain) == (4, ())
        assert sent_turns(plan) == []


class TestLookback:
    @pytest.mark.parametrize(("lookback", "oldest"), [(4, 3), (5, 1), (6, 1), (1, 9)])
    def test_older_turns_are_left_out(self, lookback: int, oldest: int) -> None:
        plan = plan_for(5, lookback_count=lookback)
        assert firsts([*plan.candidates, *plan.certain])[0] == oldest
        assert set(plan.left_out) == set(range(1, oldest, 2))

    def test_a_lookback_of_zero_leaves_out_every_turn(self) -> None:
        plan = plan_for(5, lookback_count=0)
        assert (plan.candidates, plan.certain) == ((), ())
        assert plan.left_out[9] == "older than this message"

    def test_background_turns_do_not_count_towards_the_lookback(self) -> None:
        path = [turn(1), turn(3, source="scheduled"), turn(5, source="briefing"), turn(7)]
        plan = plan_triage(path, triage_terms(lookback_count=2))
        assert firsts(plan.certain) == [1, 7]
        assert triage_reasons(plan, None)[3] == ("over_length", "")

    def test_an_excluded_turn_counts_towards_the_lookback_but_is_never_shown(self) -> None:
        hidden = turn(5)
        hidden = PathTurn((replace(hidden.entries[0], excluded=True), hidden.entries[1]))
        path = [turn(1), turn(3), hidden, turn(7)]
        plan = plan_triage(path, triage_terms(lookback_count=3, always_include_recent=0))
        assert firsts([*plan.candidates, *plan.certain]) == [3, 7]
        assert plan.left_out[5] == ""

    def test_an_excluded_answer_does_not_remove_its_turn(self) -> None:
        half = turn(1)
        half = PathTurn((half.entries[0], replace(half.entries[1], excluded=True)))
        assert firsts(plan_triage([half], triage_terms()).certain) == [1]

    def test_nothing_above_the_marker_is_shown(self) -> None:
        path = turns_of(5)
        marked = PathTurn((replace(path[2].entries[0], forgets_above=True), *path[2].entries[1:]))
        inside = plan_triage([*path[:2], marked, *path[3:]], triage_terms())
        assert firsts(inside.certain) == [5, 7, 9]
        assert inside.left_out == {1: "", 3: ""}
        below = plan_triage(path, triage_terms(), marker=11)
        assert below.certain == ()


class TestRecency:
    def plan_for_ages(self, *hours: float | None, **values: object) -> TriagePlan:
        """A plan for turns of these ages, oldest first, without asking a model."""
        path = [turn(1 + 2 * place, hours=age) for place, age in enumerate(hours)]
        return plan_triage(path, triage_terms(use_selection=False, **values))

    def test_age_is_measured_from_the_newest_turn_and_the_bound_is_inclusive(self) -> None:
        plan = self.plan_for_ages(
            30.0, 25.01, 25.0, 1.0, context_recency_hours=24, context_min_messages=0
        )
        assert firsts(plan.certain) == [5, 7]
        assert plan.left_out[1] == "more than 24 hours older than the newest turn"

    @pytest.mark.parametrize(
        ("least", "expected"), [(0, [5]), (1, [5]), (2, [3, 5]), (3, [1, 3, 5])]
    )
    def test_the_newest_stay_however_old_they_are(self, least: int, expected: list[int]) -> None:
        plan = self.plan_for_ages(99, 50, 0, context_recency_hours=0.5, context_min_messages=least)
        assert firsts(plan.certain) == expected

    def test_zero_hours_switch_the_rule_off(self) -> None:
        plan = self.plan_for_ages(9999, 0, context_recency_hours=0, context_min_messages=0)
        assert firsts(plan.certain) == [1, 3]

    def test_each_older_turn_is_judged_by_itself(self) -> None:
        plan = self.plan_for_ages(1, 99, 0, context_recency_hours=2, context_min_messages=1)
        assert firsts(plan.certain) == [1, 5]

    def test_an_unknown_time_leaves_nothing_out(self) -> None:
        values = {"context_recency_hours": 1, "context_min_messages": 0}
        assert firsts(self.plan_for_ages(None, 99, 0, **values).certain) == [1, 5]
        assert firsts(self.plan_for_ages(99, 50, None, **values).certain) == [1, 3, 5]

    def test_a_window_longer_than_the_calendar_is_allowed(self) -> None:
        values = {"context_recency_hours": 1_000_000, "context_min_messages": 0}
        assert firsts(self.plan_for_ages(10_000, 0, **values).certain) == [1, 3]

    def test_a_later_background_report_does_not_make_a_turn_newer(self) -> None:
        old, new = turn(1, hours=50), turn(4, hours=0)
        report = Message(id="r", role="assistant", content="Done.", source="briefing")
        reported = PathTurn((*old.entries, Entry(message=report, seq=3, at=new.entries[0].at)))
        settings = triage_terms(context_recency_hours=1, context_min_messages=0)
        assert firsts(plan_triage([reported, new], settings).certain) == [4]


class TestSelected:
    def test_chosen_and_certain_turns_are_sent_in_path_order(self) -> None:
        plan = plan_for(8)
        assert sent_turns(plan, frozenset({5, 1})) == [1, 5, 7, 9, 11, 13, 15]
        found = triage_reasons(plan, frozenset({5, 1}))
        assert found[1] == ("relevant", "chosen by a fast model")
        assert found[3] == ("not_relevant", "a fast model left it out")
        assert found[15] == ("within_length", "within the newest 5 turns")

    def test_an_empty_choice_is_a_choice(self) -> None:
        assert sent_turns(plan_for(8), frozenset()) == [7, 9, 11, 13, 15]

    def test_without_a_choice_the_whole_lookback_is_sent(self) -> None:
        plan = plan_for(30)
        assert sent_turns(plan, None) == list(range(11, 61, 2))
        found = triage_reasons(plan, None)
        assert found[11][1] == "within the last 25 turns; no model has chosen among them"
        assert found[9] == ("over_length", "older than the last 25 turns")

    def test_the_reasons_have_a_singular(self) -> None:
        values = {"lookback_count": 1, "skip_selection_threshold": 0, "always_include_recent": 0}
        plan = plan_for(2, **values)
        assert triage_reasons(plan, None) == {
            1: ("over_length", "older than the last turn"),
            3: ("within_length", "within the last turn; no model has chosen among them"),
        }
        plan = plan_for(2, **values | {"lookback_count": 2, "always_include_recent": 1})
        assert triage_reasons(plan, frozenset())[3] == ("within_length", "within the newest turn")

    def test_only_candidates_can_be_chosen(self) -> None:
        assert sent_turns(plan_for(30), frozenset({1, 2, 999})) == [51, 53, 55, 57, 59]

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

    def test_shortening_keeps_tool_calls(self) -> None:
        call = ToolCall(id="c", name="search")
        calling = Message.assistant("Let me look that up", id="a", calls=(call,))
        cut = shorten_answer(Entry(message=calling, seq=1), 3).message
        assert (cut.content, cut.calls) == ("Let […shortened]", (call,))
