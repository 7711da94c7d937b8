"""A turn with tools: every stored call has a result at every moment, whatever ends the turn."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from django.db import connection
from pytest_django import DjangoAssertNumQueries

from chatsite.conversations.files.export import write_export
from chatsite.conversations.models import Message
from chatsite.conversations.path import loading, queries
from chatsite.conversations.records import Checkpoint, StartedTurn
from chatsite.conversations.turn import receipts
from chatsite.conversations.turn.end import end_interrupted, end_turn
from chatsite.conversations.turn.rounds import end_call, save_checkpoints
from chatsite.history import Everything
from chatsite.messages import Message as DomainMessage
from chatsite.views import MessageView, Problem
from tests.conversations.builders import (
    ADA,
    NEVER_RAN,
    begin,
    begin_round,
    counted_totals,
    end,
    messages,
    new_id,
    run_in_threads,
    shown_messages,
    stored_totals,
    tool_call_message,
    tool_result,
)
from tests.imported import read_export


def in_a_round(*names: str) -> tuple[str, StartedTurn, tuple[DomainMessage, ...]]:
    """A turn whose model has just called these tools."""
    chat = new_id()
    begun = begin(chat, "When is high tide?")
    results, _ = begin_round(
        begun.turn, tool_call_message(*names, text="Let me see."), id=begun.answer, answer=new_id()
    )
    return chat, begun, results


@pytest.mark.django_db
class TestRounds:
    def test_a_whole_turn_is_stored_in_its_order(self) -> None:
        chat = new_id()
        begun = begin(chat, "When is high tide?")
        second = new_id()
        results, views = begin_round(
            begun.turn, tool_call_message("tides", "clock"), id=begun.answer, answer=second
        )
        assert views is not None
        assert [(v.message.role, v.state, v.finish_reason) for v in views] == [
            ("assistant", "complete", "tool_calls"),
            ("tool", "running", ""),
            ("tool", "running", ""),
        ]
        assert views[0].turn == begun.turn and views[0].message.reasoning
        assert stored_totals(chat) == counted_totals(chat) == (2, 1, 7)
        for marked in results[::-1]:
            view = end_call.here(turn=begun.turn, message=tool_result(marked))
            assert view is not None and view.state == "complete"
            assert (view.message.content, view.message.call_id) == (
                '"high at noon"',
                marked.call_id,
            )
            assert stored_totals(chat) == counted_totals(chat)
        ended = end_turn.here(
            turn=begun.turn, state="complete", text="At noon.", reasoning="Noon.", receipt={"a": 1}
        )
        assert ended is not None and ended.message is not None and ended.messages == ()
        assert (ended.message.message.id, ended.message.message.reasoning) == (second, "Noon.")
        assert stored_totals(chat) == counted_totals(chat)
        assert [role for role, _ in shown_messages(chat)] == [
            "user",
            "assistant",
            "tool",
            "tool",
        ] + ["assistant"]
        path = list(messages(chat).order_by("seq"))
        assert [m.parent_id for m in path[1:]] == [m.id for m in path[:-1]]
        assert {m.turn_seq for m in path} == {1}
        assert path[1].calls[0]["arguments"] == {"n": 1}

    def test_a_fresh_page_shows_the_calls_that_run_and_not_the_answer(self) -> None:
        chat, begun, results = in_a_round("tides", "clock")
        end_call.here(turn=begun.turn, message=tool_result(results[0]))
        save_checkpoints.here([Checkpoint(turn=begun.turn, answer=begun.answer, text="Late")])
        writing = str(messages(chat).get(state="running", role="assistant").id)
        save_checkpoints.here(
            [Checkpoint(turn=begun.turn, answer=writing, text="High", reasoning="Hm")]
        )
        opened = queries.open_conversation.here(owner=ADA, conversation=chat)
        assert [(v.message.role, v.state) for v in opened.messages] == [
            ("user", "complete"),
            ("assistant", "complete"),
            ("tool", "complete"),
            ("tool", "running"),
        ]
        assert (opened.running, opened.running_user) == (begun.turn, opened.messages[0].message.id)
        written = messages(chat).get(id=writing)
        assert (written.content, written.reasoning) == ("High", "Hm")
        loaded = loading.load_path.here(owner=ADA, conversation=chat, reach=Everything())
        assert [e.message.role for e in loaded.transcript.entries] == ["user", "assistant", "tool"]

    @pytest.mark.parametrize("how", ["stop", "kill", "fail"])
    def test_however_a_turn_ends_each_of_its_calls_has_a_result(self, how: str) -> None:
        chat, begun, results = in_a_round("tides", "clock")
        end_call.here(turn=begun.turn, message=tool_result(results[0]))
        if how == "kill":
            assert len(end_interrupted.here()) == 1
        else:
            ended = end(begun, "", state="stopped" if how == "stop" else "failed")
            assert ended is not None and ended.message is None
            assert [(v.message.content, v.state) for v in ended.messages] == [
                (NEVER_RAN, "stopped" if how == "stop" else "interrupted")
            ]
        assert not messages(chat).filter(state="running").exists()
        assert shown_messages(chat) == [
            ("user", "When is high tide?"),
            ("assistant", "Let me see."),
            ("tool", '"high at noon"'),
            ("tool", NEVER_RAN),
        ]
        assert stored_totals(chat) == counted_totals(chat)
        end(begin(chat, "And now?"))
        path = list(messages(chat).order_by("seq"))
        assert [m.parent_id for m in path[1:]] == [m.id for m in path[:-1]]

    def test_results_after_the_end_of_the_turn_change_nothing(self) -> None:
        chat, begun, results = in_a_round("tides")
        end(begun, "", state="stopped")
        before = list(messages(chat).values())
        assert end_call.here(turn=begun.turn, message=tool_result(results[0])) is None
        late = begin_round(begun.turn, tool_call_message("clock"), id=begun.answer, answer=new_id())
        assert late[1] is None
        save_checkpoints.here(
            [Checkpoint(turn=begun.turn, answer=begun.answer, text="late", receipt={"late": 1})]
        )
        assert end(begun) is None
        assert list(messages(chat).values()) == before
        assert stored_totals(chat) == counted_totals(chat)

    def test_a_result_is_stored_once(self) -> None:
        chat, begun, results = in_a_round("tides")
        assert end_call.here(turn=begun.turn, message=tool_result(results[0])) is not None
        assert end_call.here(turn=begun.turn, message=tool_result(results[0], '"else"')) is None
        assert messages(chat).get(role="tool").content == '"high at noon"'
        assert end_call.here(turn=new_id(), message=tool_result(results[0])) is None

    def test_a_round_takes_few_queries(
        self, django_assert_num_queries: DjangoAssertNumQueries
    ) -> None:
        chat = new_id()
        begun = begin(chat)
        message = tool_call_message("a", "b", "c")
        locks = connection.vendor == "postgresql"
        # The statements that begin and end a nested transaction included.
        with django_assert_num_queries(6 + locks):
            results, _ = begin_round(begun.turn, message, id=begun.answer, answer=new_id())
        with django_assert_num_queries(5 + locks):
            end_call.here(turn=begun.turn, message=tool_result(results[0]))


@pytest.mark.django_db
class TestReading:
    def test_the_last_request_of_a_turn_finds_its_earlier_rounds(self) -> None:
        chat = new_id()
        end(begin(chat, "Before"))
        begun = begin(chat, "When?")
        results, _ = begin_round(
            begun.turn, tool_call_message("tides"), id=begun.answer, answer=new_id()
        )
        end_call.here(turn=begun.turn, message=tool_result(results[0]))
        layout = {"layout": [{"first": 1, "last": 5}]}
        end_turn.here(turn=begun.turn, state="complete", text="At noon.", receipt=layout)
        kept = receipts.request_parts.here(owner=ADA, turn=begun.turn)
        assert [entry.message.role for entry in kept.entries] == ["user", "assistant"] * 2 + [
            "tool"
        ]
        asked = receipts.past_turn.here(owner=ADA, turn=begun.turn)
        assert [entry.seq for entry in asked.loaded.transcript.entries] == [1, 2, 3]

    def test_a_problem_of_a_complete_turn_is_shown_at_its_answer(self) -> None:
        chat, begun, results = in_a_round("tides")
        cut = Problem(code="server_cut", message="The server cut it.")
        ended = end_turn.here(turn=begun.turn, state="complete", text="Noon.", problem=cut)
        assert ended is not None and ended.message is not None and ended.message.problem == cut
        opened = queries.open_conversation.here(owner=ADA, conversation=chat)
        assert [view.problem for view in opened.messages] == [None, None, None, cut]

    def test_a_conversation_exported_during_a_round_can_be_restored(self) -> None:
        chat, begun, _ = in_a_round("tides", "clock")
        saved = read_export(write_export(queries.whole_path.here(owner=ADA, conversation=chat)))
        assert [m.content for m in saved.messages] == [
            "When is high tide?",
            "Let me see.",
            NEVER_RAN,
            NEVER_RAN,
        ]


@pytest.mark.django_db(transaction=True)
def test_of_a_result_and_a_stop_at_the_same_time_only_one_is_stored() -> None:
    for _ in range(4):
        chat, begun, results = in_a_round("tides")
        work: list[Callable[[], object]] = [
            lambda: end_call.here(turn=begun.turn, message=tool_result(results[0])),  # noqa: B023
            lambda: end(begun, "", state="stopped"),  # noqa: B023
        ]
        found = run_in_threads(2, lambda: work.pop()())  # noqa: B023
        assert not [one for one in found if isinstance(one, Exception)]
        tool = Message.objects.get(id=results[0].id)
        taken = any(isinstance(one, MessageView) for one in found)
        assert (tool.content, tool.state) == (
            ('"high at noon"', "complete") if taken else (NEVER_RAN, "stopped")
        )
        assert stored_totals(chat) == counted_totals(chat)
