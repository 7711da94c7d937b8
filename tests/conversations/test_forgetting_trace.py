"""The trace behind "Why did it forget?" takes few queries, however long the conversation is."""

from __future__ import annotations

from typing import Any

import pytest
from pytest_django import DjangoAssertNumQueries

from chatsite.conversations.lifecycle import delete_conversation
from chatsite.conversations.models import Turn
from chatsite.conversations.path import marks
from chatsite.conversations.path.forgetting_trace import questions_since, trace_message
from chatsite.errors import NotFound
from tests.conversations.builders import ADA, BOB, messages, new_id, row, talk

pytestmark = pytest.mark.django_db


def receipt(*, since: int) -> dict[str, Any]:
    """The receipt of a decision that sent the messages from sequence number `since` on."""
    left_out, sent = {"sent": False, "reason": "over_length"}, {"sent": True, "reason": "current"}
    return {
        "verdicts": [
            {"first": 1, "last": since - 1, "sentence": "older", **left_out},
            {"first": since, "last": 999_999, "sentence": "", **sent},
        ]
    }


def long_talk(turns: int, *, reach: int) -> str:
    """Turns sent under the policy lastN with `reach`; question n has the sequence number 2n - 1."""
    chat = new_id()
    talk(chat, turns)
    rows = list(Turn.objects.filter(conversation=row(chat)))
    for turn in rows:
        turn.receipt = receipt(since=max(2 * (turn.number - reach) + 1, 1))
    Turn.objects.bulk_update(rows, ["receipt"])
    return chat


def at(chat: str, seq: int) -> str:
    return str(messages(chat).get(seq=seq).id)


def test_the_trace_reads_back_to_the_turn_that_first_left_the_message_out(
    django_assert_max_num_queries: DjangoAssertNumQueries,
) -> None:
    chat = long_talk(60, reach=5)
    id = at(chat, 3)
    with django_assert_max_num_queries(6):
        found = trace_message.here(owner=ADA, message=id)
        trace = questions_since.here(found=found, coming=receipt(since=113))
    assert (found.conversation, found.agent, found.seq, found.asked) == (chat, "demo", 3, 60)
    assert trace.whole
    assert [one.number for one in trace.asked] == list(range(2, 61))
    assert [one.since for one in trace.asked] == list(range(59))
    question = trace.asked[5]
    assert (question.number, question.since, question.text) == (7, 5, "question 7")
    assert question.turn == str(Turn.objects.get(number=7).id)


def test_a_recent_change_is_found_in_the_newest_receipts() -> None:
    chat = long_talk(60, reach=5)
    trace = questions_since.here(
        found=trace_message.here(owner=ADA, message=at(chat, 107)), coming=receipt(since=113)
    )
    assert [one.number for one in trace.asked] == list(range(54, 61))
    kept = questions_since.here(
        found=trace_message.here(owner=ADA, message=at(chat, 81)), coming=receipt(since=113)
    )
    assert not kept.whole and len(kept.asked) == 16


def test_the_trace_never_reads_more_receipts_than_its_limit(
    django_assert_max_num_queries: DjangoAssertNumQueries, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("chatsite.conversations.path.forgetting_trace.CHUNKS", (4, 8))
    chat = long_talk(40, reach=1)
    found = trace_message.here(owner=ADA, message=at(chat, 1))
    with django_assert_max_num_queries(4):
        trace = questions_since.here(found=found, coming=receipt(since=79))
    assert not trace.whole
    assert [one.number for one in trace.asked] == list(range(29, 41))
    assert trace.asked[-1].since == 39


def test_messages_of_background_tasks_are_no_questions_of_the_trace() -> None:
    chat = long_talk(4, reach=9)
    messages(chat).filter(content="question 2").update(source="scheduled")
    trace = questions_since.here(
        found=trace_message.here(owner=ADA, message=at(chat, 1)), coming=None
    )
    assert [one.text for one in trace.asked] == ["question 1", "question 3", "question 4"]


def test_the_trace_names_the_message_whose_exclusion_leaves_the_turn_out() -> None:
    chat = long_talk(2, reach=9)
    question, answer = at(chat, 1), at(chat, 2)
    marks.exclude_message.here(owner=ADA, message=answer, on=True)
    assert trace_message.here(owner=ADA, message=answer).excluded == answer
    assert trace_message.here(owner=ADA, message=question).excluded is None
    marks.exclude_message.here(owner=ADA, message=answer, on=False)
    marks.exclude_message.here(owner=ADA, message=question, on=True)
    assert trace_message.here(owner=ADA, message=answer).excluded == question


def test_another_persons_message_is_not_found() -> None:
    chat = long_talk(1, reach=9)
    id = at(chat, 1)
    for owner, message in ((BOB, id), (ADA, new_id())):
        with pytest.raises(NotFound, match="no such message"):
            trace_message.here(owner=owner, message=message)
    delete_conversation.here(owner=ADA, conversation=chat)
    with pytest.raises(NotFound):
        trace_message.here(owner=ADA, message=id)
