"""Lines that tell the model on which day a turn begins, and what isn't shown."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import given, settings

from chatsite.history import Decision, Entry, NotLoaded, Previous, Transcript, Window, decide
from chatsite.history.decision.receipt import show_receipt
from chatsite.history.evidence import Evidence
from chatsite.history.receipts.replay import StoredRequest, rebuild_messages
from chatsite.history.settings.resolve import resolve
from chatsite.messages import Message, ToolCall
from conformance_kit.cases import total_tokens, with_tokens
from conformance_kit.strategies.adapter import PolicyCase, counted_head
from conformance_kit.strategies.cases import cases
from tests.conformance.built_in.policy_properties import checks_of
from tests.conformance.built_in.variants import VARIANTS, Variant
from tests.examples import REPEATABLE
from tests.history.decision.test_properties import check_loaded_part, trial_or_too_large

ON: dict[str, Any] = {"historyTell": True, "historyDates": True}
# Why a property doesn't bind with these lines, by its number.
UNBOUND = {
    "p27": "a turn takes its line, too, and may not fit with it",
    "p30": "a turn takes its line, too, so that there may be no room for it beside free tokens",
}


@pytest.mark.examples
@pytest.mark.parametrize("variant", VARIANTS, ids=lambda variant: variant.name)
def test_every_other_property_holds_with_our_lines(variant: Variant) -> None:
    checks = [one for one in checks_of(variant.name) if one.__name__.split("_")[0] not in UNBOUND]

    @settings(REPEATABLE, max_examples=max(1, REPEATABLE.max_examples // 4))
    @given(case=cases())
    def holds(case: PolicyCase) -> None:
        trial = trial_or_too_large(replace(case, options={**case.options, **ON}), variant)
        if trial is not None:
            for check in checks:
                check(trial)
            if not trial.marker:  # among what isn't loaded, nobody counts what is above it
                check_loaded_part(trial)

    holds()


# ---- what the lines say ----------------------------------------------------------------------
NOON = datetime(2026, 11, 23, 12, tzinfo=UTC)
ANSWER = "Yes. " * 10


def path(turns: int, *, hours: int = 12) -> tuple[Entry, ...]:
    """Turns in the distance of so many hours; the last is the current one."""
    found: list[Entry] = []
    for number in range(turns):
        at = NOON + timedelta(hours=hours * number)
        asked = with_tokens(Message.user(f"Question {number}?", id=f"u{number}"))
        found.append(Entry(message=asked, seq=2 * number + 1, at=at))
        answered = with_tokens(Message.assistant(ANSWER, id=f"a{number}"))
        found.append(Entry(message=answered, seq=2 * number + 2, at=at))
    return tuple(found[:-1])


def decided(
    entries: tuple[Entry, ...],
    *,
    before: Decision | None = None,
    not_loaded: NotLoaded | None = None,
    recall: bool = False,
    **template: Any,
) -> Decision:
    previous = json.loads(json.dumps(before.to_stored())) if before else None
    return decide(
        Transcript(entries=entries, not_loaded=not_loaded or NotLoaded()),
        resolve(environment={}, url={}, template={"historyPolicy": "all", **template}),
        head=replace(counted_head(), recall=recall),
        window=Window(100_000, 1_000),
        evidence=Evidence(previous=Previous.from_dict(previous) if previous else None),
        agent="demo",
    )


def said(decision: Decision) -> list[str]:
    """The texts after the head, of answers their first word."""
    return [(m.content or "").split(" Yes")[0] for m in decision.request[1:]]


def test_each_change_of_day_has_a_line_before_its_turn() -> None:
    assert said(decided(path(4), historyDates=True)) == [
        *("[Monday, 23 November 2026]", "Question 0?", "Yes."),
        *("[Tuesday, 24 November 2026]", "Question 1?", "Yes.", "Question 2?", "Yes."),
        *("[Wednesday, 25 November 2026]", "Question 3?"),
    ]


def test_a_line_says_how_much_is_not_shown_and_how_to_find_it() -> None:
    few: dict[str, Any] = {"historyPolicy": "lastN", "historyLength": 2, "historyTell": True}
    [*_, line, current] = said(decided(path(6), **few))
    assert line == "[Not shown to you of this conversation: earlier exchanges (4).]"
    assert current == "Question 5?"
    found = said(decided(path(6), recall=True, **few))[-2]
    assert found == f"{line[:-1]} The tool `recall` finds them.]"
    assert said(decided(path(2), **few)) == ["Question 0?", "Yes.", "Question 1?"]


def test_what_was_not_read_is_counted_as_well() -> None:
    away = NotLoaded(messages=20, users=10, tokens=200, first=1, last=4)
    few: dict[str, Any] = {"historyPolicy": "lastN", "historyLength": 2, "historyTell": True}
    assert "earlier exchanges (12)" in said(decided(path(6)[4:], not_loaded=away, **few))[-2]


@pytest.mark.parametrize(("mark", "left"), [("excluded", 3), ("forgets_above", 2)])
def test_what_a_person_left_out_is_not_counted(mark: str, left: int) -> None:
    entries = list(path(6))
    place = 2 if mark == "excluded" else 4
    marked: dict[str, Any] = {mark: True}
    entries[place] = replace(entries[place], **marked)
    few: dict[str, Any] = {"historyPolicy": "lastN", "historyLength": 2, "historyTell": True}
    assert f"exchanges ({left})" in said(decided(tuple(entries), **few))[-2]


@pytest.mark.parametrize("values", ["", "berth: B-12"])
def test_results_that_gave_way_are_counted(values: str) -> None:
    call = ToolCall(id="x", name="search", arguments={})
    work = [
        Message.user("Which berth?", id="u"),
        Message.assistant(None, id="c", calls=(call,)),
        Message.tool("quay " * 600, id="r", call_id="x"),
        Message.assistant("The third.", id="a"),
        Message.user("And now?", id="n"),
    ]
    entries = [
        Entry(message=with_tokens(one), seq=seq, anchors=values if one.role == "tool" else "")
        for seq, one in enumerate(work, 1)
    ]
    tight: dict[str, Any] = {"historyTokens": 300, "historyKeepResults": 0, "historyTell": True}
    now = decided(tuple(entries), recall=True, **tight)
    assert now.request[-2].content == (
        "[Not shown to you of this conversation: results and files that made room (1). The tool "
        "`recall` finds them.]"
    )


@pytest.mark.parametrize(
    "policy",
    [
        {"historyPolicy": "all"},
        {"historyPolicy": "lastN", "historyLength": 6, "historyStep": 3},
        {"historyPolicy": "tokens", "historyTokens": 400},
        {"historyPolicy": "relevant", "historyTokens": 400},
    ],
    ids=lambda policy: policy["historyPolicy"],
)
def test_the_beginning_stays_the_same_while_the_path_grows(policy: dict[str, Any]) -> None:
    """All but the line about what isn't shown and the message before it, unless the cut moves."""
    before: Decision | None = None
    stayed = 0
    for turns in range(1, 25):
        now = decided(path(turns), before=before, **ON, **policy)
        if before is not None and _first_seq(before) == _first_seq(now):
            told = before.request[-2].id.startswith("told")
            same = (*before.request[: -2 if told else -1], *([] if told else before.request[-1:]))
            assert now.request[: len(same)] == same
            assert now.leading >= total_tokens(same)
            stayed += 1
        before = now
    assert stayed > 10


def _first_seq(decision: Decision) -> int:
    runs = [item.to_stored() for item in decision.layout]
    return next(int(run[0]) for run in runs if isinstance(run, list))


def test_the_lines_are_a_part_of_their_own_and_within_the_limit() -> None:
    now = decided(path(40), **ON, historyPolicy="tokens", historyTokens=500)
    [notes] = [part for part in now.parts if part.name == "notes"]
    lines = [m for m in now.request if m.id.startswith(("told", "date"))]
    assert notes.tokens == total_tokens(lines) > 0
    assert now.tokens == total_tokens(now.request) <= 500


def test_a_request_with_lines_is_rebuilt_from_its_receipt() -> None:
    entries = path(9)
    few: dict[str, Any] = {"historyPolicy": "lastN", "historyLength": 4}
    now = decided(entries, **ON, **few)
    receipt = json.loads(json.dumps(now.to_stored()))
    stored = StoredRequest(agent="demo", receipt=receipt, entries=entries, summaries={})
    messages, differences = rebuild_messages(stored, counted_head())
    assert differences == ()
    assert [(m.role, m.content) for m in messages] == [(m.role, m.content) for m in now.request]
    assert any(item.get("kind") == "told" for item in show_receipt(receipt)["layout"])


def test_none_and_a_memory_that_is_off_send_no_lines() -> None:
    offs: list[dict[str, Any]] = [{"historyPolicy": "none"}, {"conversation": {"enabled": False}}]
    for off in offs:
        assert said(decided(path(3), **ON, **off)) == ["Question 2?"]
