"""Answers can be retried, the last one continued, and each replaced by another of its versions."""

from __future__ import annotations

import pytest
from pytest_django import DjangoAssertNumQueries

from chatsite.conversations.lifecycle import clear_conversation
from chatsite.conversations.models import Message, Turn
from chatsite.conversations.path import marks, queries
from chatsite.conversations.path.added_messages import add_message
from chatsite.conversations.records import Checkpoint, StartedTurn
from chatsite.conversations.summaries import queries as summary_queries
from chatsite.conversations.summaries import versions as summaries
from chatsite.conversations.turn import receipts
from chatsite.conversations.turn.end import end_interrupted, end_turn
from chatsite.conversations.turn.rounds import end_call, save_checkpoints
from chatsite.conversations.versions.edits import edit_message
from chatsite.conversations.versions.versions import show_version
from chatsite.errors import NotFound, Refused, TurnRunning
from chatsite.history import AddedMessage
from chatsite.messages import Role
from chatsite.views import Problem
from tests.conversations.builders import (
    ADA,
    BOB,
    begin,
    begin_round,
    counted_totals,
    end,
    messages,
    new_id,
    retry,
    row,
    run_in_threads,
    shown_messages,
    stored_totals,
    talk,
    token_count,
    tool_call_message,
    tool_result,
)

DOWN = Problem(code="unreachable", message="The model can't be reached.")


def message_id(chat: str, seq: int) -> str:
    return str(messages(chat).get(seq=seq).id)


def versions(chat: str) -> list[tuple[str, ...]]:
    opened = queries.open_conversation.here(owner=ADA, conversation=chat)
    return [tuple(one.id for one in view.versions) for view in opened.messages]


def stop_turn(text: str = "Half an") -> tuple[str, StartedTurn]:
    """A turn whose answer the user stopped."""
    chat = new_id()
    begun = begin(chat, "Tell me")
    end(begun, text, state="stopped")
    return chat, begun


@pytest.mark.django_db
class TestAgain:
    def test_a_retry_replaces_the_answer_on_the_path_and_keeps_the_old_version(self) -> None:
        chat = new_id()
        talk(chat, 2)
        first = message_id(chat, 4)
        begun = retry(chat, first)
        assert (begun.gone_from, begun.text, begun.place, begun.number) == (4, "", 5, 3)
        assert begun.asked == message_id(chat, 3) and not begun.resent
        assert [view.message.content for view in begun.messages] == ["question 2"]
        assert stored_totals(chat) == counted_totals(chat)
        assert shown_messages(chat)[-1] == ("user", "question 2")
        opened = queries.open_conversation.here(owner=ADA, conversation=chat)
        assert (opened.running, opened.running_user) == (begun.turn, begun.asked)
        ended = end(begun, "Better.")
        assert ended is not None and ended.message is not None
        assert [one.id for one in ended.message.versions] == [first, begun.answer]
        assert shown_messages(chat)[-2:] == [("user", "question 2"), ("assistant", "Better.")]
        assert versions(chat) == [(), (), (), (first, begun.answer)]
        assert stored_totals(chat) == counted_totals(chat)
        assert messages(chat).count() == 5
        assert messages(chat).get(seq=5).parent_id == messages(chat).get(seq=3).id

    def test_any_message_of_a_turn_with_rounds_retries_the_whole_turn(self) -> None:
        chat = new_id()
        begun = begin(chat, "When?")
        results, _ = begin_round(
            begun.turn, tool_call_message("tides"), id=begun.answer, answer=new_id()
        )
        end_call.here(turn=begun.turn, message=tool_result(results[0]))
        end(begun, "At noon.")
        marks.pin_message.here(owner=ADA, message=results[0].id, on=True)
        retried = retry(chat, message_id(chat, 2))
        assert retried.gone_from == 2
        assert (row(chat).marked, stored_totals(chat)) == (0, (1, 1, 3))
        end(retried, "At one.")
        assert versions(chat) == [(), (begun.answer, retried.answer)]
        show_version.here(owner=ADA, message=begun.answer)
        assert [text for _, text in shown_messages(chat)][2:] == ['"high at noon"', "At noon."]
        assert row(chat).marked == 1 and stored_totals(chat) == counted_totals(chat)

    def test_a_message_without_an_answer_can_be_retried(self) -> None:
        chat = new_id()
        failed = begin(chat, "Hello?")
        end_turn.here(turn=failed.turn, state="failed", text="", problem=DOWN)
        opened = queries.open_conversation.here(owner=ADA, conversation=chat)
        assert opened.messages[0].problem == DOWN
        begun = retry(chat, failed.asked)
        assert begun.gone_from == 0 and begun.messages[0].problem is None
        end(begun, "Hello!")
        opened = queries.open_conversation.here(owner=ADA, conversation=chat)
        assert [view.problem for view in opened.messages] == [None, None]
        assert opened.messages[1].turn == begun.turn and opened.receipt == {
            "turn": begun.turn,
            "number": begun.number,
        }

    def test_a_failed_retry_without_text_restores_the_old_answer(self) -> None:
        chat = new_id()
        talk(chat, 1)
        first = message_id(chat, 2)
        end(retry(chat, first), "Second.")
        show_version.here(owner=ADA, message=first)
        tried = retry(chat, first)
        ended = end_turn.here(turn=tried.turn, state="failed", text="", problem=DOWN)
        assert ended is not None and ended.message is None
        assert [view.message.id for view in ended.messages] == [first]
        opened = queries.open_conversation.here(owner=ADA, conversation=chat)
        assert [view.message.content for view in opened.messages] == ["question 1", "answer 1"]
        assert [view.problem for view in opened.messages] == [DOWN, None]
        assert stored_totals(chat) == counted_totals(chat)
        end(retry(chat, first), "Third.")
        opened = queries.open_conversation.here(owner=ADA, conversation=chat)
        assert [view.problem for view in opened.messages] == [None, None]

    def test_a_resent_retry_returns_the_turn_that_it_began(self) -> None:
        chat = new_id()
        talk(chat, 1)
        begun = retry(chat, message_id(chat, 2), client_id="c")
        for _ in range(2):
            found = retry(chat, message_id(chat, 2), client_id="c")
            assert (found.resent, found.turn, found.answer) == (True, begun.turn, begun.answer)
            assert found.asked == begun.asked
            end(begun)
        assert Turn.objects.count() == 2

    @pytest.mark.parametrize("mode", ["again", "continue"])
    def test_only_the_owner_can_retry_only_what_is_shown_and_only_while_nothing_runs(
        self, mode: str
    ) -> None:
        chat, other = new_id(), new_id()
        talk(chat, 2)
        talk(other, 1)
        last, off_path = message_id(chat, 4), message_id(chat, 2)
        edit_message.here(owner=ADA, message=off_path, text="Rather so.")
        off_path = str(messages(chat).get(on_path=False).id)
        for id, owner, message, error in (
            (chat, ADA, off_path, Refused),
            (chat, BOB, last, NotFound),
            (new_id(), ADA, last, NotFound),
            (other, ADA, last, NotFound),
            (chat, ADA, new_id(), NotFound),
        ):
            with pytest.raises(error):
                retry(id, message, owner=owner, mode=mode)  # type: ignore[arg-type]
        begin(chat)
        with pytest.raises(TurnRunning):
            retry(chat, last, mode=mode)  # type: ignore[arg-type]
        assert Turn.objects.filter(mode__gt="").count() == 0

    @pytest.mark.parametrize("role", ["assistant", "user"])
    def test_what_a_background_task_wrote_below_the_answer_goes_with_it(self, role: Role) -> None:
        chat = new_id()
        begun = begin(chat, "Tell me")
        end(begun, "Half an", state="stopped")
        task = add_message.here(conversation=chat, source="briefing", text="It rains.", role=role)
        before = shown_messages(chat)
        with pytest.raises(Refused, match="message of yours"):
            retry(chat, task.message.id)
        with pytest.raises(Refused, match="background task has written below"):
            retry(chat, begun.answer, mode="continue")
        assert shown_messages(chat) == before
        end(retry(chat, begun.answer), "A whole answer.")
        assert shown_messages(chat) == [("user", "Tell me"), ("assistant", "A whole answer.")]
        show_version.here(owner=ADA, message=begun.answer)
        assert shown_messages(chat) == before and stored_totals(chat) == counted_totals(chat)

    def test_a_summary_of_the_old_answer_is_invalid_until_that_version_is_shown_again(self) -> None:
        chat = new_id()
        talk(chat, 1)
        given = summary_queries.unsummarised_path.here(owner=ADA, conversation=chat)
        summaries.fold_summary.here(
            owner=ADA, conversation=chat, start=given, folded=given.entries, messages=2, text="S",
            by="m", tokens=token_count(1), report={},
        )  # fmt: skip
        first = message_id(chat, 2)
        end(retry(chat, first))
        assert summary_queries.summary_state.here(owner=ADA, conversation=chat).summary is None
        show_version.here(owner=ADA, message=first)
        assert summary_queries.summary_state.here(owner=ADA, conversation=chat).summary is not None
        retry(chat, first, mode="continue")
        assert summary_queries.summary_state.here(owner=ADA, conversation=chat).summary is None


@pytest.mark.django_db
class TestContinuing:
    def test_a_continued_answer_grows_in_the_same_message(self) -> None:
        chat, begun = stop_turn()
        further = retry(chat, begun.answer, mode="continue")
        assert (further.answer, further.gone_from) == (begun.answer, 2)
        assert (further.text, further.place, further.asked) == ("Half an", 2, begun.asked)
        assert stored_totals(chat) == counted_totals(chat) == (1, 1, 3)
        ended = end(further, "Half an answer.", tokens=9)
        assert ended is not None and ended.message is not None
        assert (ended.message.message.id, ended.message.turn) == (begun.answer, further.turn)
        assert stored_totals(chat) == counted_totals(chat) == (2, 1, 12)
        assert shown_messages(chat) == [("user", "Tell me"), ("assistant", "Half an answer.")]
        assert row(chat).last_turn_id == Turn.objects.get(number=2).id

    @pytest.mark.parametrize("added", ["", " ans"])
    def test_a_failure_or_a_kill_keeps_the_old_text_and_the_added_text(self, added: str) -> None:
        chat, begun = stop_turn()
        further = retry(chat, begun.answer, mode="continue")
        if added:
            save_checkpoints.here(
                [Checkpoint(turn=further.turn, answer=further.answer, text=f"Half an{added}")]
            )
        end_interrupted.here(conversation=chat)
        assert shown_messages(chat)[-1] == ("assistant", f"Half an{added}")
        further = retry(chat, begun.answer, mode="continue")
        end_turn.here(turn=further.turn, state="failed", text="", reasoning="", problem=DOWN)
        assert shown_messages(chat)[-1] == ("assistant", f"Half an{added}")
        opened = queries.open_conversation.here(owner=ADA, conversation=chat)
        assert opened.messages[0].problem == DOWN
        assert stored_totals(chat) == counted_totals(chat)

    def test_a_continued_answer_may_call_tools(self) -> None:
        chat, begun = stop_turn()
        further = retry(chat, begun.answer, mode="continue")
        message = tool_call_message("tides", text="Half an hour: let me see.")
        results, _ = begin_round(further.turn, message, id=begun.answer, answer=new_id())
        end_call.here(turn=further.turn, message=tool_result(results[0]))
        end(further, "At noon.")
        assert [text for _, text in shown_messages(chat)][1:] == [
            "Half an hour: let me see.",
            '"high at noon"',
            "At noon.",
        ]
        assert stored_totals(chat) == counted_totals(chat)

    def test_only_an_answer_with_text_can_be_continued(self) -> None:
        chat = new_id()
        failed = begin(chat)
        end(failed, "", state="failed")
        with pytest.raises(Refused, match="with text"):
            retry(chat, failed.asked, mode="continue")
        begun = retry(chat, failed.asked)
        begin_round(
            begun.turn, tool_call_message("tides", text="Well"), id=begun.answer, answer=new_id()
        )
        end(begun, "", state="stopped")
        with pytest.raises(Refused, match="with text"):
            retry(chat, begun.answer, mode="continue")
        assert Turn.objects.count() == 2

    def test_each_request_can_be_rebuilt_from_its_own_messages(self) -> None:
        """By then a turn's messages belong to the turn that continued it or are off the path."""
        chat, begun = stop_turn()
        first = retry(chat, begun.answer, mode="continue")
        run = {"first": 1, "last": 1}
        source = AddedMessage(
            kind="continue", role="assistant", digest="", tokens=1, id="7", sources=(2,)
        ).to_dict()
        end_turn.here(
            turn=first.turn, state="stopped", text="Half an ans", receipt={"layout": [run, source]}
        )
        end(retry(chat, begun.answer, mode="continue"), "Half an answer.")
        anew = retry(chat, begun.answer)
        end_turn.here(turn=anew.turn, state="complete", text="New.", receipt={"layout": [run]})
        kept = receipts.request_parts.here(owner=ADA, turn=first.turn)
        assert [entry.seq for entry in kept.entries] == [1, 2]
        assert [e.seq for e in receipts.request_parts.here(owner=ADA, turn=anew.turn).entries] == [
            1
        ]
        asked = receipts.past_turn.here(owner=ADA, turn=anew.turn)
        assert [entry.message.content for entry in asked.loaded.transcript.entries] == ["Tell me"]
        before = Turn.objects.get(number=3)
        assert asked.loaded.receipt == before.receipt == {"turn": str(before.id)}


@pytest.mark.django_db
class TestVersions:
    def test_showing_a_version_also_shows_the_newest_messages_below_it(self) -> None:
        chat = new_id()
        talk(chat, 1)
        first = message_id(chat, 2)
        second = retry(chat, first)
        end(second, "Second.")
        end(begin(chat, "Go on"), "Gone on.")
        tried = retry(chat, message_id(chat, 5))
        end(tried, "Gone further.")
        whole = shown_messages(chat)
        marks.pin_message.here(owner=ADA, message=tried.answer, on=True)
        show_version.here(owner=ADA, message=first)
        assert shown_messages(chat) == [("user", "question 1"), ("assistant", "answer 1")]
        assert (row(chat).marked, stored_totals(chat)) == (0, counted_totals(chat))
        assert row(chat).last_turn_id == Turn.objects.get(number=1).id
        show_version.here(owner=ADA, message=second.answer)
        assert shown_messages(chat) == whole
        assert (row(chat).marked, stored_totals(chat)) == (1, counted_totals(chat))
        assert str(row(chat).last_turn_id) == tried.turn

    def test_forget_marks_survive_a_change_of_version(self) -> None:
        chat = new_id()
        talk(chat, 1)
        first = message_id(chat, 2)
        end(retry(chat, first), "Second.")
        end(begin(chat, "Go on"))
        marks.forget_above_message.here(owner=ADA, message=message_id(chat, 4), on=True)
        show_version.here(owner=ADA, message=first)
        assert row(chat).forget_above == 2

    def test_a_change_of_version_is_refused_for_others_during_an_answer_and_for_non_versions(
        self,
    ) -> None:
        chat = new_id()
        talk(chat, 1)
        first = message_id(chat, 2)
        end(retry(chat, first), "Second.")
        for owner, message in ((BOB, first), (ADA, new_id())):
            with pytest.raises(NotFound):
                show_version.here(owner=owner, message=message)
        begun = begin(chat)
        with pytest.raises(TurnRunning):
            show_version.here(owner=ADA, message=first)
        end(begun)
        clear_conversation.here(owner=ADA, conversation=chat)
        with pytest.raises(NotFound):
            show_version.here(owner=ADA, message=first)
        assert stored_totals(chat) == counted_totals(chat) == (0, 0, 0)

    def test_a_page_reads_all_versions_at_once(
        self, django_assert_max_num_queries: DjangoAssertNumQueries
    ) -> None:
        chat = new_id()
        for _ in range(4):
            talk(chat, 1)
            last = messages(chat).latest("seq")
            end(retry(chat, str(last.id)))
        with django_assert_max_num_queries(14):  # one of them: which models wrote the answers
            found = versions(chat)
        assert [len(one) for one in found] == [0, 2] * 4


@pytest.mark.django_db(transaction=True)
def test_of_two_retries_at_the_same_time_only_one_begins() -> None:
    chat = new_id()
    talk(chat, 1)
    message = message_id(chat, 2)
    found = run_in_threads(2, lambda: retry(chat, message))
    assert sum(isinstance(one, StartedTurn) for one in found) == 1
    assert sum(isinstance(one, TurnRunning) for one in found) == 1
    assert Message.objects.filter(state="running").count() == 1
    same = run_in_threads(2, lambda: retry(chat, message, client_id="same"))
    assert all(isinstance(one, TurnRunning) for one in same)
