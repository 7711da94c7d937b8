"""A user message whose answer failed, with nothing of it stored, is unanswered in storage."""

from __future__ import annotations

import pytest
from pytest_django import DjangoAssertNumQueries

from chatsite.conversations.path import queries
from chatsite.conversations.path.added_messages import add_message
from chatsite.conversations.path.loading import load_path
from chatsite.conversations.path.marks import leave_unanswered_message
from chatsite.conversations.turn.end import end_turn
from chatsite.errors import Refused
from chatsite.history import Everything, Tokens
from chatsite.views import Problem, State
from tests.conversations.builders import (
    ADA,
    begin,
    begin_round,
    end,
    messages,
    new_id,
    retry,
    talk,
    tool_call_message,
)

pytestmark = pytest.mark.django_db
DOWN = Problem(code="unreachable", message="The model can't be reached.")


def unanswered(chat: str) -> list[int]:
    """The sequence numbers of the unanswered messages, as a decision gets to know them."""
    loaded = load_path.here(owner=ADA, conversation=chat, reach=Everything())
    return [entry.seq for entry in loaded.transcript.entries if entry.unanswered]


def failed_chat() -> str:
    chat = new_id()
    end_turn.here(turn=begin(chat).turn, state="failed", text="", problem=DOWN)
    return chat


def at(chat: str, seq: int) -> str:
    return str(messages(chat).get(seq=seq).id)


@pytest.mark.parametrize(
    ("state", "text", "found"),
    [
        ("failed", "", [1]),
        ("interrupted", "", [1]),
        ("complete", "", [1]),
        ("stopped", "", []),
        ("failed", "Half an", []),
        ("complete", "An answer.", []),
    ],
)
def test_a_message_is_unanswered_where_its_answer_failed_and_nothing_of_it_is_stored(
    state: State, text: str, found: list[int]
) -> None:
    chat = new_id()
    ended = end_turn.here(turn=begin(chat).turn, state=state, text=text)
    assert unanswered(chat) == found
    assert ended is not None
    assert [view.seq for view in ended.messages] == found
    snapshot = queries.open_conversation.here(owner=ADA, conversation=chat).messages
    assert [view.state for view in ended.messages] == [snapshot[0].state for _ in found]


def test_tool_calls_are_something_of_an_answer() -> None:
    chat = new_id()
    begun = begin(chat)
    begin_round(begun.turn, tool_call_message("search"), id=begun.answer, answer=new_id())
    end_turn.here(turn=begun.turn, state="failed", text="", problem=DOWN)
    assert unanswered(chat) == []


def test_an_answer_that_is_tried_again_with_success_ends_it() -> None:
    chat = failed_chat()
    begun = retry(chat, at(chat, 1))
    end(begun, "", state="failed")
    assert unanswered(chat) == [1]
    ended = end(retry(chat, at(chat, 1)), "Here.")
    assert unanswered(chat) == []
    assert ended is not None
    assert [(view.seq, view.state) for view in ended.messages] == [(1, "complete")]


def test_a_retry_that_fails_where_a_former_answer_comes_back_leaves_the_message_answered() -> None:
    chat = new_id()
    talk(chat, 1)
    end(retry(chat, at(chat, 2)), "", state="failed")
    assert unanswered(chat) == []


def test_a_report_of_a_background_task_is_no_answer() -> None:
    chat = failed_chat()
    add_message.here(conversation=chat, source="briefing", text="It rains.")
    assert unanswered(chat) == [1]
    leave_unanswered_message.here(owner=ADA, message=at(chat, 1), on=False)
    assert unanswered(chat) == []


def test_it_is_included_with_one_mark_that_can_be_taken_back() -> None:
    chat = failed_chat()
    end(begin(chat, "Are you there?"), "Yes.")
    for on, state in ((False, "complete"), (False, "complete"), (True, "failed")):
        change = leave_unanswered_message.here(owner=ADA, message=at(chat, 1), on=on)
        assert change.marked.state == state
        assert unanswered(chat) == [1] * on


def test_a_message_with_an_answer_cannot_be_unanswered() -> None:
    chat = new_id()
    talk(chat, 1)
    for seq in (1, 2):
        with pytest.raises(Refused, match="Only a message of yours that has no answer"):
            leave_unanswered_message.here(owner=ADA, message=at(chat, seq), on=True)


def test_the_path_is_read_with_no_more_queries_and_as_much_of_it_as_has_room(
    django_assert_num_queries: DjangoAssertNumQueries,
) -> None:
    chat = new_id()
    talk(chat, 6)
    before = _loaded(chat, django_assert_num_queries)
    end_turn.here(turn=begin(chat).turn, state="failed", text="", problem=DOWN)
    after = _loaded(chat, django_assert_num_queries)
    assert after == [*before, before[-1] + 1]


def _loaded(chat: str, django_assert_num_queries: DjangoAssertNumQueries) -> list[int]:
    with django_assert_num_queries(3):
        found = load_path.here(owner=ADA, conversation=chat, reach=Tokens(16))
    return [entry.seq for entry in found.transcript.entries]
