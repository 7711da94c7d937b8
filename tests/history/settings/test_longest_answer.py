"""`longest_answer`: older answers above a number of characters aren't sent, with a reason.

The setting is the worked example of CONTRIBUTING: a row, what it does, its words, and this test.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from chatsite.errors import BadSetting
from chatsite.history import (
    Decision,
    Entry,
    Everything,
    Evidence,
    Hit,
    Recall,
    StrategyChoice,
    StrategySlot,
    Transcript,
    Window,
    decide,
    reach,
    resolve,
    show_receipt,
)
from chatsite.history.settings.table import ROWS
from conformance_kit.cases import with_tokens
from conformance_kit.strategies.adapter import counted_head
from tests.history.decision.test_golden_receipts import CASES, EVIDENCE, path

# The long answer of the sixth turn; every policy but `none` would send or quote it.
LONG = 12
ROOMY: dict[str, object] = {"historyLength": 20, "historyStep": 1, "historyTokens": None}


def long_path(**marks: Any) -> Transcript:
    """Answers have 110 characters and this one 1,000."""
    transcript = path()

    def longer(entry: Entry) -> Entry:
        if entry.seq != LONG:
            return entry
        message = replace(entry.message, content="milk " * 200, tokens=None)
        return replace(entry, message=with_tokens(message), **marks)

    return replace(transcript, entries=tuple(longer(entry) for entry in transcript.entries))


def decision(
    template: dict[str, object], transcript: Transcript, evidence: Evidence = EVIDENCE
) -> Decision:
    return decide(
        transcript,
        resolve(environment={}, url={}, template={"historyLength": 20, **template}),
        head=counted_head(),
        window=Window(4_096, 256),
        evidence=evidence,
        agent="demo",
    )


def text_of(found: Decision) -> str:
    return " ".join(message.content or "" for message in found.request)


def reason_of(found: Decision, seq: int) -> str:
    return next(one.reason for one in found.verdicts if one.first <= seq <= one.last)


@pytest.mark.parametrize("name", CASES)
def test_under_every_policy_a_longer_answer_is_not_sent(name: str) -> None:
    without = decision(CASES[name] | ROOMY, long_path())
    bounded = decision(CASES[name] | ROOMY | {"historyLongestAnswer": 999}, long_path())
    assert "milk " * 100 not in text_of(bounded)
    assert bounded.tokens <= without.tokens
    if reason_of(without, LONG) in ("within_length", "within_budget", "relevant", "strategy"):
        assert reason_of(bounded, LONG) == "too_long"
        assert reason_of(bounded, LONG - 1) == reason_of(without, LONG - 1)


def test_an_answer_of_that_length_is_sent() -> None:
    found = decision({"historyPolicy": "all", "historyLongestAnswer": 1_000}, long_path())
    assert "milk " * 200 in text_of(found)


def test_an_answer_in_a_pinned_turn_is_sent() -> None:
    found = decision({"historyPolicy": "all", "historyLongestAnswer": 9}, long_path(pinned=True))
    assert "milk " * 200 in text_of(found)


def test_the_budget_of_a_strategy_is_not_spent_on_what_is_not_sent() -> None:
    """Its budget has room for the messages around the long answer alone."""

    def chosen(*items: int, tokens: int | None, longest: int | None) -> Decision:
        slot = StrategySlot(name="history", priority=1, items=items)
        template = {"historyTokens": tokens, "historyLongestAnswer": longest}
        evidence = replace(EVIDENCE, chosen=StrategyChoice(slots=(slot,)))
        return decision({"historyPolicy": "strategy", **template}, long_path(), evidence)

    budget = chosen(11, 13, tokens=None, longest=None).tokens
    cut = chosen(11, LONG, 13, tokens=budget, longest=None)
    assert reason_of(cut, 11) != "strategy"
    whole = chosen(11, LONG, 13, tokens=budget, longest=999)
    assert [reason_of(whole, seq) for seq in (11, LONG, 13)] == ["strategy", "too_long", "strategy"]
    assert whole.tokens == budget


@pytest.mark.parametrize("longest", [None, 999])
def test_a_longer_answer_is_not_quoted_either(longest: int | None) -> None:
    evidence = replace(EVIDENCE, recall=Recall(hits=(Hit(seq=LONG, score=1.0, why="milk"),)))
    template = {"historyPolicy": "relevant", "historyTokens": 650, "historyRecallShare": 100}
    found = decision({**template, "historyLongestAnswer": longest}, long_path(), evidence)
    assert ("milk " * 100 in text_of(found)) is (longest is None)
    assert (reason_of(found, LONG) == "relevant") is (longest is None)


@pytest.mark.parametrize("policy", ["tokens", "relevant", "summary"])
def test_no_room_stays_free_for_answers_that_are_not_sent(policy: str) -> None:
    """Where storage reads as many tokens as there is room for, it would count those answers."""
    settings = resolve(
        environment={}, url={}, template={"historyPolicy": policy, "historyLongestAnswer": 999}
    )
    assert reach(settings, room=500) == Everything()


def test_the_receipt_keeps_the_setting_and_says_why() -> None:
    found = decision({"historyPolicy": "all", "historyLongestAnswer": 999}, long_path())
    shown = show_receipt(found.to_stored())
    setting = shown["settings"]["longest_answer"]
    assert (setting["value"], setting["source"]) == (999, "template")
    (verdict,) = (one for one in shown["verdicts"] if one["reason"] == "too_long")
    assert verdict["sent"] is False
    assert verdict["sentence"] == "an answer with more characters than may be sent again"


def test_it_locks_as_every_history_setting_and_no_link_sets_it() -> None:
    settings = resolve(
        environment={"HISTORY_LONGEST_ANSWER": "500"},
        url={"historyLength": "2", "historyLongestAnswer": "7"},
        template={"historyLongestAnswer": 300},
        room={"historyLongestAnswer": 400},
    )
    assert (settings.longest_answer.value, settings.longest_answer.source) == (500, "environment")
    assert settings.locked and settings.length.source == "built in"
    room = resolve(environment={}, url={}, template={}, room={"historyLongestAnswer": 400})
    assert room.longest_answer.source == "room" and ROWS["longest_answer"].url is None


def test_a_number_below_one_is_not_allowed() -> None:
    with pytest.raises(BadSetting, match="allowed is a whole number from 1"):
        resolve(environment={"HISTORY_LONGEST_ANSWER": "0"}, url={}, template={})
