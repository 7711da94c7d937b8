"""Turns that a cleanup of the KV cache unloaded, and a cleanup that replaces the guard."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest

from chatsite.history import (
    NO_EVIDENCE,
    Decision,
    Entry,
    Evidence,
    Hit,
    Recall,
    Transcript,
    Window,
    decide,
    resolve,
)
from chatsite.history.path.marks import selectable_entries
from chatsite.history.policies.triage import plan_triage
from chatsite.history.receipts.forgetting import MessageTrail, TrailMessage, explain_forgetting
from tests.conformance.built_in.variants import cleaner
from tests.history.decision.test_decide import HEAD, WIDE, answer, reasons, sent, user
from tests.history.older_turns import firsts, triage_terms, turn


def unloaded(entry: Entry, status: int = -1) -> Entry:
    return replace(entry, message=replace(entry.message, kv_status=status))


def talk(count: int, tokens: int = 50) -> list[Entry]:
    """`count` turns of question and answer, at 1, 3, 5 and so on, then the current message."""
    path: list[Entry] = []
    for seq in range(1, 2 * count, 2):
        path += [user(seq, tokens // 2), answer(seq + 1, tokens // 2)]
    return [*path, user(2 * count + 1)]


def decision_on(
    path: Sequence[Entry],
    policy: str = "all",
    *,
    strategy: str | None = None,
    window: Window = WIDE,
    evidence: Evidence = NO_EVIDENCE,
    **settings: Any,
) -> Decision:
    """With a `strategy` the cleanup replaces the guard's cut; with None the guard cuts."""
    return decide(
        Transcript(entries=tuple(path)),
        resolve(environment={}, url={}, template={"historyPolicy": policy, **settings}),
        head=HEAD,
        window=window,
        evidence=evidence,
        agent="demo",
        cleanup=cleaner({"cacheCleanup": strategy}) if strategy else None,
    )


def window_for(turns: int) -> Window:
    """A window with room for the head, the current message and `turns` turns of 50 tokens."""
    head = sum(message.tokens.count for message in HEAD.messages if message.tokens)
    return Window(head + 10 + turns * 50 + 100, 100)


def as_stored(path: Sequence[Entry], decision: Decision) -> list[Entry]:
    """The path with the unloaded turns marked, as the store marks them."""
    gone = {seq for first in decision.unloads for seq in (first, first + 1)}
    return [unloaded(entry, 0) if entry.seq in gone else entry for entry in path]


class TestAnUnloadedTurn:
    @pytest.mark.parametrize("status", [0, -1])
    @pytest.mark.parametrize("place", [3, 4])
    def test_one_unloaded_message_takes_its_whole_turn_out(self, status: int, place: int) -> None:
        path = [unloaded(e, status) if e.seq == place else e for e in talk(3)]
        decision = decision_on(path)
        assert sent(decision) == [1, 2, 5, 6, 7]
        assert reasons(decision)[1] == (3, 4, "unloaded")
        run = decision.to_dict()["verdicts"][2]
        assert run["sentence"] == "unloaded by a cleanup, until you bring it back"
        assert decision.horizon == 5

    def test_a_pin_and_a_reply_bring_it_back_and_stronger_marks_keep_it_out(self) -> None:
        first, second, third = (unloaded(user(seq)) for seq in (1, 2, 3))
        below = user(4, forgets_above=True)
        question = user(6)
        reply = replace(question, message=replace(question.message, reply_to="m3"))
        path = [replace(first, pinned=True), replace(second, excluded=True), third, user(5), reply]
        assert [reason for _, _, reason in reasons(decision_on(path))] == [
            *("pinned", "excluded", "replied_to", "within_budget", "current"),
        ]
        above = reasons(decision_on([replace(first, pinned=True), below, user(6)]))[0]
        assert above == (1, 1, "above_marker")

    def test_it_counts_towards_the_length(self) -> None:
        path = [unloaded(e) if e.seq in (5, 6) else e for e in talk(4)]
        decision = decision_on(path, "lastN", historyLength=3)
        assert sent(decision) == [7, 8, 9]
        assert reasons(decision)[:2] == [(1, 4, "over_length"), (5, 6, "unloaded")]

    def test_the_current_turn_is_sent_whatever_its_status(self) -> None:
        path = [*talk(1)[:-1], unloaded(user(3))]
        assert sent(decision_on(path)) == [1, 2, 3]

    def test_it_is_not_quoted(self) -> None:
        path = [unloaded(e) if e.seq == 1 else e for e in talk(12)]
        hits = Evidence(
            recall=Recall(hits=(Hit(seq=1, score=2, why="x"), Hit(seq=3, score=1, why="x")))
        )
        decision = decision_on(path, "relevant", window=window_for(6), evidence=hits)
        quoted = [(verdict.first, verdict.last) for verdict in decision.verdicts if verdict.quoted]
        assert quoted == [(3, 3)]

    def test_neither_a_strategy_nor_triage_may_choose_it(self) -> None:
        path = [unloaded(e) if e.seq in (1, 3) else e for e in talk(3)]
        path[2] = replace(path[2], pinned=True)
        assert [e.seq for e in selectable_entries(Transcript(entries=tuple(path)))] == [3, 4, 5, 6]
        older = [turn(1), turn(3), turn(5)]
        older[1] = replace(older[1], entries=(unloaded(older[1].entries[0]), older[1].entries[1]))
        plan = plan_triage(older, triage_terms(skip_selection_threshold=0, always_include_recent=1))
        assert (firsts(plan.candidates), firsts(plan.certain)) == ([1], [5])

    def test_the_explanation_offers_to_bring_it_back(self) -> None:
        path = [unloaded(e) if e.seq in (1, 2) else e for e in talk(2)]
        receipt = decision_on(path).to_dict()
        question = TrailMessage(number=1, since=0, text="question", turn="t", receipt=receipt)
        story = explain_forgetting(
            1, trail=MessageTrail(asked=(question,), whole=True), coming=receipt
        )
        assert story.fixes == ("bring_back", "pin", "ask")
        assert story.sentences[0].endswith(": unloaded by a cleanup, until you bring it back.")


class TestInsteadOfTheGuard:
    @pytest.mark.parametrize(
        ("strategy", "kept"),
        [
            ("keepSystemPromptOnly", []),
            ("keepSystemPromptAndHalf", [7, 8, 9, 10, 11, 12]),
            ("keepSystemPromptAndFirstUserMessage", [1, 2]),
            ("keepSystemPromptAndLastUserMessage", [11, 12]),
            ("removeOldestMessages", [9, 10, 11, 12]),
        ],
    )
    def test_the_strategy_decides_which_turns_are_unloaded(
        self, strategy: str, kept: list[int]
    ) -> None:
        decision = decision_on(talk(6), strategy=strategy, window=window_for(5), historyLowWater=40)
        assert sent(decision) == [*kept, 13]
        unloaded_turns = [seq for seq in range(1, 13, 2) if seq not in kept]
        assert decision.unloads == tuple(unloaded_turns)
        assert decision.to_dict()["cleanup"] == {
            "strategy": strategy,
            "source": "template",
            "turns": unloaded_turns,
            "tokens": 50 * len(unloaded_turns),
        }
        assert (
            f"{len(unloaded_turns)} older turns are unloaded ({50 * len(unloaded_turns)}"
            in decision.notes[0]
        )
        assert decision.cut is None

    def test_nothing_is_unloaded_while_everything_fits(self) -> None:
        decision = decision_on(talk(6), strategy="keepSystemPromptOnly", window=window_for(6))
        assert (len(sent(decision)), decision.unloads, decision.notes) == (13, (), ())
        assert decision.to_dict()["cleanup"] is None

    def test_unloaded_turns_stay_left_out_because_of_their_status(self) -> None:
        path = talk(6)
        first = decision_on(
            path, strategy="removeOldestMessages", window=window_for(5), historyLowWater=40
        )
        longer = [*as_stored(path, first), answer(14, 40), user(15)]
        second = decision_on(longer, strategy="removeOldestMessages", window=window_for(5))
        assert (sent(second), second.unloads) == ([*sent(first), 14, 15], ())
        assert reasons(second)[0] == (1, 8, "unloaded")
        assert first.horizon == second.horizon == 9
        # Another policy, or a model with more room, doesn't bring them back either.
        assert (
            sent(decision_on(longer, "lastN"))
            == sent(decision_on(longer, "tokens"))
            == sent(second)
        )

    def test_spared_turns_are_dropped_last_and_only_from_this_request(self) -> None:
        path = [replace(e, pinned=e.seq in (1, 5, 9)) for e in talk(6)]
        decision = decision_on(path, strategy="removeOldestMessages", window=window_for(2))
        assert sent(decision) == [5, 6, 9, 10, 13]
        assert decision.unloads == (3, 7, 11)
        assert reasons(decision)[:3] == [
            (1, 2, "over_window"),
            (3, 4, "unloaded"),
            (5, 6, "pinned"),
        ]
        again = decision_on(
            as_stored(path, decision), strategy="keepSystemPromptOnly", window=window_for(2)
        )
        assert (sent(again), again.unloads) == (sent(decision), ())

    def test_more_turns_are_unloaded_if_the_strategy_keeps_too_much(self) -> None:
        path = [user(1, 150), answer(2, 150), *talk(3)[2:]]
        first = decision_on(
            path, strategy="keepSystemPromptAndFirstUserMessage", window=window_for(3)
        )
        assert (sent(first), first.unloads) == ([7], (1, 3, 5))

    def test_the_note_has_a_singular(self) -> None:
        decision = decision_on(
            talk(1, tokens=400), strategy="removeOldestMessages", window=window_for(5)
        )
        assert decision.notes == (
            "The context is full: 1 older turn is unloaded (400 tokens; strategy: unload "
            "the oldest turns), until you bring it back.",
        )

    def test_the_guard_still_enforces_a_budget(self) -> None:
        budget = window_for(5).room
        decision = decision_on(talk(6), strategy="keepSystemPromptOnly", historyTokens=budget)
        assert (decision.unloads, decision.cut) == ((), 9)

    @pytest.mark.parametrize("policy", ["tokens", "relevant", "summary", "strategy"])
    def test_policies_with_their_own_rule_for_fitting_keep_it(self, policy: str) -> None:
        with_it = decision_on(
            talk(6), policy, strategy="keepSystemPromptOnly", window=window_for(5)
        )
        without = decision_on(talk(6), policy, window=window_for(5))
        assert with_it == without

    def test_last_n_and_triage_leave_fitting_to_the_cleanup(self) -> None:
        for settings in (
            {"policy": "lastN", "historyLength": 7},
            {"policy": "relevant", "historySelector": "triage"},
        ):
            decision = decision_on(
                talk(6), strategy="keepSystemPromptOnly", window=window_for(5), **settings
            )
            assert decision.unloads == (1, 3, 5, 7, 9, 11)
