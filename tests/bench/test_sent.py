"""The bench of what is sent counts what it says it counts."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from xml.etree import ElementTree

import pytest

from chatsite.history.evidence import AddedMessage, LayoutItem, StoredRun
from tests.bench.dialogues import Dialogue, Question, Spoken
from tests.bench.sent.bill import Bill, SentRequest, in_time
from tests.bench.sent.chart import Panel, Series, draw
from tests.bench.sent.replays import replay_dialogue
from tests.bench.sent.senders import SYSTEM, Plan, PolicySender, Search, whole_messages
from tests.bench.sent.talks import talk_of

BEGAN = datetime(2026, 1, 5, 9, tzinfo=UTC)
PLANS = {
    "none": Plan(template={"historyPolicy": "none"}),
    "all": Plan(template={"historyPolicy": "all"}),
    "relevant": Plan(template={"historyPolicy": "relevant"}, limit=600),
    "tokens": Plan(template={"historyPolicy": "tokens"}, limit=600),
    "too small": Plan(template={"historyPolicy": "all"}, limit=SYSTEM + 1),
}


def said(number: int, text: str, *, days: int = 0) -> Spoken:
    """Of even numbers the author is the user. Every message comes a minute after the last."""
    at = BEGAN + timedelta(days=days, minutes=number)
    return Spoken(id=f"D1:{number}", author="ab"[number % 2], text=text, session=1, at=at)


def dialogue(*spoken: Spoken, questions: tuple[Question, ...] = ()) -> Dialogue:
    return Dialogue(
        name="made", authors=("a", "b"), with_assistant=True, spoken=spoken, questions=questions
    )


def asked(text: str, *evidence: int, until: int) -> Question:
    return Question(text=text, kind="fact", evidence=frozenset(evidence), until=until)


def long_talk(turns: int) -> list[Spoken]:
    first = [said(0, "The key to the boathouse hangs in the pantry."), said(1, "Noted.")]
    more = [said(n, f"Of tide table {n} I read every line twice.") for n in range(2, 2 * turns)]
    return first + more


def test_a_cached_token_costs_a_tenth_and_another_one_and_a_quarter() -> None:
    bill = Bill()
    bill.pay(SentRequest(100, 0, frozenset()), in_time=False)
    bill.pay(SentRequest(200, 100, frozenset()), in_time=False)
    assert bill.units == pytest.approx((125 + 10 + 125) / 2)
    assert bill.units_forgetting == pytest.approx((125 + 250) / 2)


def test_the_cache_forgets_after_five_minutes_and_between_sessions_that_overlap() -> None:
    assert in_time(BEGAN, BEGAN + timedelta(minutes=5))
    assert not in_time(BEGAN, BEGAN + timedelta(minutes=6))
    assert not in_time(BEGAN, BEGAN - timedelta(minutes=1))
    assert not in_time(None, BEGAN)


def test_quoted_messages_are_whole_in_a_request_and_shortened_ones_are_not() -> None:
    quoted = AddedMessage(kind="recalled", role="user", digest="", tokens=9, sources=(2, 5))
    layout: list[LayoutItem] = [
        StoredRun(7, 8),
        StoredRun(9, 9, shortened=100),
        quoted,
        StoredRun(11, 11),
    ]
    assert whole_messages(layout) == {2, 5, 7, 8, 11}


def test_every_message_of_the_user_is_a_request_and_each_question_stands_in_its_place() -> None:
    questions = (
        asked("Where does the key hang?", 0, until=2),
        asked("Where does the key hang?", 0, until=4),
        # An ordinary message of the chat, asked about: no request of its own.
        asked("And the oars?", 0, until=4),
    )
    spoken = [*long_talk(2), said(4, "And the oars?", days=1), said(5, "In the shed.", days=1)]
    bills = replay_dialogue(dialogue(*spoken, questions=questions), PLANS, frozenset())
    assert {name: bill.requests for name, bill in bills.items() if name != "too small"} == {
        "none": 3,
        "all": 3,
        "relevant": 3,
        "tokens": 3,
    }
    assert (bills["all"].questions, bills["all"].complete) == (3, 3)
    assert (bills["none"].questions, bills["none"].complete) == (3, 0)
    # The third request comes a day later.
    assert bills["all"].warm > bills["all"].kept > 0


def test_a_message_over_the_limit_is_refused_and_holds_no_evidence() -> None:
    question = asked("Where does the key hang?", 0, until=2)
    found = dialogue(*long_talk(1), questions=(question,))
    bill = replay_dialogue(found, PLANS, frozenset())["too small"]
    assert (bill.requests, bill.refused, bill.questions, bill.complete) == (0, 1, 1, 0)


def test_an_early_message_is_found_again_only_by_a_search() -> None:
    question = asked("Where does the key to the boathouse hang?", 0, until=60)
    found = dialogue(*long_talk(30), questions=(question,))
    bills = replay_dialogue(found, PLANS, frozenset())
    assert (bills["relevant"].complete, bills["tokens"].complete) == (1, 0)


async def test_what_was_quoted_stays_in_the_next_request() -> None:
    question = said(60, "Where does the key to the boathouse hang?")
    talk = await talk_of(
        dialogue(*long_talk(30), question, said(61, "In the pantry."), said(62, "I see."))
    )
    sender, search = PolicySender(PLANS["relevant"]), Search()
    first = sender.send(talk.path[:61], search)
    then = sender.send(talk.path, search)
    assert first is not None and then is not None
    assert 1 in first.whole & then.whole
    assert then.leading == first.tokens


def test_the_picture_is_drawn_with_every_line_of_every_set() -> None:
    series = tuple(Series(name=name, points=((90, 5), (900, 50))) for name in ("<one>", "two"))
    picture = draw([Panel(title="A", series=series), Panel(title="B", series=series)], caption="&")
    root = ElementTree.fromstring(picture)
    lines = root.findall(".//{http://www.w3.org/2000/svg}polyline")
    assert len(lines) == 4
