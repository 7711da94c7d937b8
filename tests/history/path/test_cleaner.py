"""What a cleanup of the KV cache left out, and a cleanup in the guard's place."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest

from chatsite.conformance.policies.adapter import cleaner
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
from chatsite.history.policies.triage import plan_triage
from chatsite.history.records.forgetting import MessageTrail, TrailMessage, explain_forgetting
from chatsite.history.values.selectable import selectable_entries
from tests.history.decision.test_decide import HEAD, WIDE, answer, reasons, sent, user
from tests.history.older import firsts, triage_terms, turn


def unloaded(entry: Entry, status: int = -1) -> Entry:
    return replace(entry, message=replace(entry.message, kv_status=status))


def talk(count: int, tokens: int = 50) -> list[Entry]:
    """That many turns of a question and an answer, 1, 3, 5 and so on, and the current message."""
    path: list[Entry] = []
    for seq in range(1, 2 * count, 2):
        path += [user(seq, tokens // 2), answer(seq + 1, tokens // 2)]
    return [*path, user(2 * count + 1)]


def decided(
    path: Sequence[Entry],
    policy: str = "all",
    *,
    strategy: str | None = None,
    window: Window = WIDE,
    evidence: Evidence = NO_EVIDENCE,
    **settings: Any,
) -> Decision:
    """`strategy` cleans up where the guard would cut; None: the guard cuts."""
    return decide(
        Transcript(entries=tuple(path)),
        resolve(environment={}, url={}, template={"historyPolicy": policy, **settings}),
        head=HEAD,
        window=window,
        evidence=evidence,
        agent="demo",
        cleanup=cleaner({"cacheCleanup": strategy}) if strategy else None,
    )


def full(turns: int) -> Window:
    """The head, the current message, and so many turns of 50 tokens."""
    head = sum(message.tokens.count for message in HEAD.messages if message.tokens)
    return Window(head + 10 + turns * 50 + 100, 100)


def as_stored(path: Sequence[Entry], decision: Decision) -> list[Entry]:
    """With what the decision unloads marked, as the store does."""
    gone = {seq for first in decision.unloads for seq in (first, first + 1)}
    return [unloaded(entry, 0) if entry.seq in gone else entry for entry in path]


class TestAnUnloadedTurn:
    @pytest.mark.parametrize("status", [0, -1])
    @pytest.mark.parametrize("place", [3, 4])
    def test_one_unloaded_message_takes_its_whole_turn_out(self, status: int, place: int) -> None:
        path = [unloaded(e, status) if e.seq == place else e for e in talk(3)]
        decision = decided(path)
        assert sent(decision) == [1, 2, 5, 6, 7]
        assert reasons(decision)[1] == (3, 4, "unloaded")
        assert decision.verdicts[2].sentence == "unloaded by a cleanup, until you bring it back"
        assert decision.horizon == 5

    def test_a_pin_and_a_reply_bring_it_in_and_stronger_marks_keep_it_out(self) -> None:
        first, second, third = (unloaded(user(seq)) for seq in (1, 2, 3))
        below = user(4, forgets_above=True)
        asked = user(6)
        reply = replace(asked, message=replace(asked.message, reply_to="m3"))
        path = [replace(first, pinned=True), replace(second, excluded=True), third, user(5), reply]
        assert [reason for _, _, reason in reasons(decided(path))] == [
            *("pinned", "excluded", "replied_to", "within_budget", "current"),
        ]
        above = reasons(decided([replace(first, pinned=True), below, user(6)]))[0]
        assert above == (1, 1, "above_marker")

    def test_it_keeps_its_place_in_the_length(self) -> None:
        path = [unloaded(e) if e.seq in (5, 6) else e for e in talk(4)]
        decision = decided(path, "lastN", historyLength=3)
        assert sent(decision) == [7, 8, 9]
        assert reasons(decision)[:2] == [(1, 4, "over_length"), (5, 6, "unloaded")]

    def test_the_current_turn_is_sent_whatever_its_status(self) -> None:
        path = [*talk(1)[:-1], unloaded(user(3))]
        assert sent(decided(path)) == [1, 2, 3]

    def test_it_isnt_quoted(self) -> None:
        path = [unloaded(e) if e.seq == 1 else e for e in talk(12)]
        hits = Evidence(
            recall=Recall(hits=(Hit(seq=1, score=2, why="x"), Hit(seq=3, score=1, why="x")))
        )
        decision = decided(path, "relevant", window=full(6), evidence=hits)
        quoted = [(verdict.first, verdict.last) for verdict in decision.verdicts if verdict.quoted]
        assert quoted == [(3, 3)]

    def test_nobody_else_may_choose_it(self) -> None:
        path = [unloaded(e) if e.seq in (1, 3) else e for e in talk(3)]
        path[2] = replace(path[2], pinned=True)
        assert [e.seq for e in selectable_entries(Transcript(entries=tuple(path)))] == [3, 4, 5, 6]
        older = [turn(1), turn(3), turn(5)]
        older[1] = replace(older[1], entries=(unloaded(older[1].entries[0]), older[1].entries[1]))
        plan = plan_triage(older, triage_terms(skip_selection_threshold=0, always_include_recent=1))
        assert (firsts(plan.candidates), firsts(plan.certain)) == ([1], [5])

    def test_why_names_what_brings_it_back(self) -> None:
        path = [unloaded(e) if e.seq in (1, 2) else e for e in talk(2)]
        receipt = decided(path).to_dict()
        asked = TrailMessage(number=1, since=0, text="question", turn="t", receipt=receipt)
        told = explain_forgetting(1, trail=MessageTrail(asked=(asked,), whole=True), coming=receipt)
        assert told.fixes == ("bring_back", "pin", "ask")
        assert "because it was unloaded by a cleanup, until you bring it back." in told.sentences[0]


class TestInTheGuardsPlace:
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
    def test_the_strategy_says_what_goes(self, strategy: str, kept: list[int]) -> None:
        decision = decided(talk(6), strategy=strategy, window=full(5), historyLowWater=60)
        assert sent(decision) == [*kept, 13]
        gone = [seq for seq in range(1, 13, 2) if seq not in kept]
        assert decision.unloads == tuple(gone)
        assert decision.to_dict()["cleanup"] == {
            "strategy": strategy,
            "source": "template",
            "turns": gone,
            "tokens": 50 * len(gone),
        }
        assert f"{len(gone)} older turns are unloaded ({50 * len(gone)}" in decision.notes[0]
        assert decision.cut is None

    def test_nothing_is_unloaded_while_all_of_it_fits(self) -> None:
        decision = decided(talk(6), strategy="keepSystemPromptOnly", window=full(6))
        assert (len(sent(decision)), decision.unloads, decision.notes) == (13, (), ())
        assert decision.to_dict()["cleanup"] is None

    def test_what_it_unloaded_is_left_out_by_its_status_from_then_on(self) -> None:
        path = talk(6)
        first = decided(path, strategy="removeOldestMessages", window=full(5), historyLowWater=60)
        longer = [*as_stored(path, first), answer(14, 40), user(15)]
        second = decided(longer, strategy="removeOldestMessages", window=full(5))
        assert (sent(second), second.unloads) == ([*sent(first), 14, 15], ())
        assert reasons(second)[0] == (1, 8, "unloaded")
        assert first.horizon == second.horizon == 9
        # Nor does another policy, or another model with more room, bring it back.
        assert sent(decided(longer, "lastN")) == sent(decided(longer, "tokens")) == sent(second)

    def test_what_is_spared_goes_last_and_only_from_this_request(self) -> None:
        path = [replace(e, pinned=e.seq in (1, 5, 9)) for e in talk(6)]
        decision = decided(path, strategy="removeOldestMessages", window=full(2))
        assert sent(decision) == [5, 6, 9, 10, 13]
        assert decision.unloads == (3, 7, 11)
        assert reasons(decision)[:3] == [
            (1, 2, "over_window"),
            (3, 4, "unloaded"),
            (5, 6, "pinned"),
        ]
        again = decided(as_stored(path, decision), strategy="keepSystemPromptOnly", window=full(2))
        assert (sent(again), again.unloads) == (sent(decision), ())

    def test_more_goes_where_the_strategy_keeps_too_much(self) -> None:
        path = [user(1, 150), answer(2, 150), *talk(3)[2:]]
        first = decided(path, strategy="keepSystemPromptAndFirstUserMessage", window=full(3))
        assert (sent(first), first.unloads) == ([7], (1, 3, 5))

    def test_one_turn_is_told_as_one(self) -> None:
        decision = decided(talk(1, tokens=400), strategy="removeOldestMessages", window=full(5))
        assert decision.notes == (
            "The model's window is full: 1 older turn is unloaded (400 tokens; strategy: unload "
            "the oldest turns), until you bring it back.",
        )

    def test_a_budget_stays_the_guards(self) -> None:
        budget = full(5).room
        decision = decided(talk(6), strategy="keepSystemPromptOnly", historyTokens=budget)
        assert (decision.unloads, decision.cut) == ((), 9)

    @pytest.mark.parametrize("policy", ["tokens", "relevant", "summary", "strategy"])
    def test_policies_with_a_rule_of_their_own_for_what_fits_keep_it(self, policy: str) -> None:
        with_it = decided(talk(6), policy, strategy="keepSystemPromptOnly", window=full(5))
        without = decided(talk(6), policy, window=full(5))
        assert with_it == without

    def test_triage_and_a_length_leave_it_to_the_cleanup(self) -> None:
        for settings in (
            {"policy": "lastN", "historyLength": 7},
            {"policy": "relevant", "historySelector": "triage"},
        ):
            decision = decided(talk(6), strategy="keepSystemPromptOnly", window=full(5), **settings)
            assert decision.unloads == (1, 3, 5, 7, 9, 11)
