"""A summary is valid for exactly the path that it covers, and only as long as that exists."""

from __future__ import annotations

import pytest

from chatsite.conversations.lifecycle import clear_conversation, delete_conversation
from chatsite.conversations.models import Message, Summary
from chatsite.conversations.summaries import queries as summary_queries
from chatsite.conversations.summaries import versions as summaries
from chatsite.conversations.summaries.queries import SummaryState, UnsummarisedPath
from chatsite.conversations.turn import receipts
from chatsite.conversations.versions import deletions, edits
from chatsite.errors import NotFound, Refused, TurnRunning
from chatsite.history import AddedMessage, Entry, RunningSummary
from chatsite.history.path.added_messages import summary_message
from tests.conversations.builders import (
    ADA,
    BOB,
    begin,
    counted_totals,
    delete,
    messages,
    new_id,
    row,
    stored_totals,
    talk,
)
from tests.conversations.builders import token_count as tokens

pytestmark = pytest.mark.django_db


def unsummarised_path(chat: str) -> UnsummarisedPath:
    return summary_queries.unsummarised_path.here(owner=ADA, conversation=chat)


def store_fold(
    chat: str, start_path: UnsummarisedPath, folded: list[Entry], text: str
) -> SummaryState | None:
    return summaries.fold_summary.here(
        owner=ADA,
        conversation=chat,
        start=start_path,
        folded=folded,
        messages=len(folded),
        text=text,
        by="a small model",
        tokens=tokens(9),
        report={},
    )


def fold(chat: str, count: int, text: str = "They talked.") -> RunningSummary:
    """Fold the `count` oldest messages that the valid summary doesn't cover into a new one."""
    unsummarised = unsummarised_path(chat)
    state = store_fold(chat, unsummarised, list(unsummarised.entries[:count]), text)
    assert state is not None and state.summary is not None
    return state.summary


def valid_summary(chat: str) -> RunningSummary | None:
    return summary_queries.summary_state.here(owner=ADA, conversation=chat).summary


def message(chat: str, seq: int) -> Message:
    return messages(chat).get(seq=seq)


@pytest.fixture
def chat() -> str:
    """Six turns: messages 1 to 12."""
    conversation = new_id()
    talk(conversation, 6)
    return conversation


class TestFolding:
    def test_the_covered_and_the_unsummarised_messages_are_the_whole_path(self, chat: str) -> None:
        assert [e.seq for e in unsummarised_path(chat).entries] == list(range(1, 13))
        summary = fold(chat, 4)
        assert (summary.version, summary.first, summary.last, summary.messages) == (1, 1, 4, 4)
        assert [e.seq for e in unsummarised_path(chat).entries] == list(range(5, 13))

    def test_a_second_fold_continues_where_the_first_ended(self, chat: str) -> None:
        fold(chat, 4, "First.")
        summary = fold(chat, 4, "Both.")
        assert (summary.version, summary.first, summary.last, summary.messages) == (2, 1, 8, 8)
        assert valid_summary(chat) == summary and summary.text == "Both."
        found = summary_queries.summary_versions.here(owner=ADA, conversation=chat)
        assert [(v.version, v.made_from, v.why_not) for v in found.versions] == [
            (2, 1, ""),
            (1, 0, ""),
        ]

    def test_an_answer_that_is_being_written_is_not_summarised(self, chat: str) -> None:
        begin(chat, "And?")
        assert [e.seq for e in unsummarised_path(chat).entries] == list(range(1, 14))

    @pytest.mark.parametrize(
        "change", ["clear", "delete", "switch", "edit", "exclude", "marker", "another fold"]
    )
    def test_no_summary_is_stored_if_the_conversation_changed_meanwhile(
        self, chat: str, change: str
    ) -> None:
        unsummarised = unsummarised_path(chat)
        match change:
            case "clear":
                clear_conversation.here(owner=ADA, conversation=chat)
            case "delete":
                delete_conversation.here(owner=ADA, conversation=chat)
            case "switch":
                summaries.switch_summary.here(owner=ADA, conversation=chat, on=False)
            case "edit":
                edits.edit_message.here(owner=ADA, message=str(message(chat, 2).id), text="New")
            case "exclude":
                messages(chat).filter(seq=3).update(excluded=True)
            case "marker":
                forget_above(chat, 3)
            case "another fold":
                fold(chat, 2)
        before = Summary.objects.count()
        assert store_fold(chat, unsummarised, list(unsummarised.entries[:4]), "Too late.") is None
        assert Summary.objects.count() == before

    def test_messages_added_meanwhile_do_not_prevent_the_summary(self, chat: str) -> None:
        unsummarised = unsummarised_path(chat)
        talk(chat, 1)
        edits.edit_message.here(owner=ADA, message=str(message(chat, 12).id), text="New")
        assert (
            store_fold(chat, unsummarised, list(unsummarised.entries[:4]), "In time.") is not None
        )


def forget_above(chat: str, seq: int) -> None:
    conversation = row(chat)
    conversation.forget_above = seq
    conversation.save()


class TestHolding:
    def test_a_forget_marker_inside_the_coverage_invalidates_the_summary_until_removed(
        self, chat: str
    ) -> None:
        summary = fold(chat, 8)
        for seq in (3, 9):
            forget_above(chat, seq)
            assert valid_summary(chat) is None
            assert [e.seq for e in unsummarised_path(chat).entries] == list(range(seq, 13))
        forget_above(chat, 0)
        assert valid_summary(chat) == summary

    def test_a_summary_made_below_the_marker_covers_nothing_above_it(self, chat: str) -> None:
        forget_above(chat, 5)
        summary = fold(chat, 4)
        assert (summary.first, summary.last) == (5, 8)
        assert valid_summary(chat) == summary
        forget_above(chat, 0)
        assert valid_summary(chat) is None, "messages 1 to 4 would be missing"

    def test_on_another_branch_the_version_from_before_the_branch_is_valid(self, chat: str) -> None:
        older, newer = fold(chat, 4), fold(chat, 4)
        assert valid_summary(chat) == newer
        messages(chat).filter(seq__gt=6).update(on_path=False)
        assert valid_summary(chat) == older
        assert [e.seq for e in unsummarised_path(chat).entries] == [5, 6]
        found = summary_queries.summary_versions.here(owner=ADA, conversation=chat)
        assert (found.current, found.versions[0].why_not[:10]) == (1, "It belongs")
        messages(chat).update(on_path=True)
        assert valid_summary(chat) == newer

    def test_after_clearing_no_summary_is_valid(self, chat: str) -> None:
        fold(chat, 4)
        clear_conversation.here(owner=ADA, conversation=chat)
        assert valid_summary(chat) is None
        talk(chat, 1)
        assert valid_summary(chat) is None

    def test_a_conversation_that_has_not_begun_has_no_summary(self) -> None:
        assert summary_queries.summary_state.here(owner=ADA, conversation=new_id()) == SummaryState(
            on=True, summary=None
        )


class TestTouching:
    def test_only_versions_that_cover_the_message_become_stale(self, chat: str) -> None:
        first, second = fold(chat, 4), fold(chat, 4)
        assert summaries.mark_stale(row(chat), 9) == 0
        assert valid_summary(chat) == second
        assert summaries.mark_stale(row(chat), 5) == 1
        assert valid_summary(chat) == first
        assert summaries.mark_stale(row(chat), 4) == 1
        assert valid_summary(chat) is None

    def test_a_message_of_another_branch_is_not_covered(self, chat: str) -> None:
        """Messages 5 to 12 are off the path; 13 and 14 follow message 4 in their place."""
        messages(chat).filter(seq__gt=4).update(on_path=False)
        talk(chat, 1)
        summary = fold(chat, 6)
        assert (summary.last, summary.messages) == (14, 6)
        assert summaries.mark_stale(row(chat), 7) == 0
        assert summaries.mark_stale(row(chat), 13) == 1

    def test_an_edited_message_is_summarised_again(self, chat: str) -> None:
        fold(chat, 4)
        edits.edit_message.here(
            owner=ADA, message=str(message(chat, 1).id), text="Other words here"
        )
        assert valid_summary(chat) is None
        assert unsummarised_path(chat).entries[0].message.content == "Other words here"
        assert stored_totals(chat) == counted_totals(chat)
        assert row(chat).title == "Other words here"

    def test_the_words_of_a_deleted_message_are_removed_everywhere(self, chat: str) -> None:
        edits.edit_message.here(owner=ADA, message=str(message(chat, 1).id), text="SECRET plan")
        fold(chat, 2, "The SECRET plan.")
        fold(chat, 2, "Still the SECRET plan.")
        delete(str(message(chat, 1).id))
        assert not Summary.objects.filter(text__contains="SECRET").exists()
        assert not messages(chat).filter(content__contains="SECRET").exists()
        assert "SECRET" not in row(chat).title
        assert stored_totals(chat) == counted_totals(chat)
        found = summary_queries.summary_versions.here(owner=ADA, conversation=chat)
        assert {v.why_not for v in found.versions} == {
            "A message it covers was deleted, and its text with it."
        }
        assert valid_summary(chat) is None

    def test_deleting_a_user_message_removes_no_other_message(self, chat: str) -> None:
        kept = fold(chat, 2)
        fold(chat, 2)
        delete(str(message(chat, 5).id))
        assert list(messages(chat).order_by("seq").values_list("seq", flat=True)) == [
            *(1, 2, 3, 4),
            *range(6, 13),
        ]
        orphan = message(chat, 6)
        assert orphan.parent == message(chat, 4) and orphan.turn_seq == 3
        assert valid_summary(chat) == kept, "the turn of message 4 goes on with message 6 now"

    def test_deleting_the_message_with_the_marker_moves_it_to_the_next_turn(
        self, chat: str
    ) -> None:
        forget_above(chat, 5)
        delete(str(message(chat, 5).id))
        assert row(chat).forget_above == 7, "its answer joins a turn that is forgotten"

    def test_edits_and_deletions_are_refused_for_others_and_while_an_answer_is_written(
        self, chat: str
    ) -> None:
        id = str(message(chat, 1).id)
        with pytest.raises(NotFound):
            deletions.delete_message.here(owner=BOB, message=id)
        with pytest.raises(NotFound):
            edits.edit_message.here(owner=BOB, message=id, text="Mine")
        begin(chat, "And?")
        with pytest.raises(TurnRunning):
            deletions.delete_message.here(owner=ADA, message=id)
        with pytest.raises(TurnRunning):
            edits.edit_message.here(owner=ADA, message=id, text="New")
        assert message(chat, 1).content == "question 1"


def rewrite(chat: str, version: int, text: str | None) -> RunningSummary:
    state = summaries.rewrite_summary.here(
        owner=ADA, conversation=chat, version=version, text=text, tokens=tokens(4)
    )
    assert state.summary is not None
    return state.summary


class TestRewriting:
    def test_an_edit_is_a_new_version_with_the_same_coverage(self, chat: str) -> None:
        fold(chat, 4)
        summary = rewrite(chat, 1, "In my own words.")
        assert (summary.version, summary.by, summary.last, summary.messages) == (2, "you", 4, 4)
        assert valid_summary(chat) == summary
        assert fold(chat, 2).messages == 6

    def test_an_older_version_is_restored_as_a_new_one(self, chat: str) -> None:
        first = fold(chat, 4, "First.")
        fold(chat, 4, "Second.")
        summary = rewrite(chat, 1, None)
        assert (summary.version, summary.text, summary.by, summary.last) == (
            3,
            "First.",
            first.by,
            4,
        )
        assert [e.seq for e in unsummarised_path(chat).entries] == list(range(5, 13))

    def test_rewriting_an_invalid_version_is_refused_with_the_reason(self, chat: str) -> None:
        fold(chat, 4)
        summaries.mark_stale(row(chat), 2)
        with pytest.raises(Refused, match="was changed, left out or deleted since"):
            rewrite(chat, 1, "Mine.")
        with pytest.raises(NotFound):
            rewrite(chat, 7, "Mine.")
        assert Summary.objects.count() == 1

    def test_a_summary_that_is_switched_off_stays_readable(self, chat: str) -> None:
        summary = fold(chat, 4)
        off = summaries.switch_summary.here(owner=ADA, conversation=chat, on=False)
        assert off == SummaryState(on=False, summary=summary)
        assert (off.view.on, off.view.version) == (False, 1)

    def test_others_do_not_find_the_summary(self, chat: str) -> None:
        fold(chat, 4)
        for ask in (
            lambda: summary_queries.summary_state.here(owner=BOB, conversation=chat),
            lambda: summary_queries.unsummarised_path.here(owner=BOB, conversation=chat),
            lambda: summary_queries.summary_versions.here(owner=BOB, conversation=chat),
            lambda: summary_queries.summary_text.here(owner=BOB, conversation=chat, version=1),
            lambda: summaries.switch_summary.here(owner=BOB, conversation=chat, on=False),
            lambda: summaries.rewrite_summary.here(
                owner=BOB, conversation=chat, version=1, text="x", tokens=tokens(1)
            ),
        ):
            with pytest.raises(NotFound):
                ask()
        assert row(chat).summary_on


@pytest.mark.parametrize("with_values", [True, False])
def test_the_values_that_it_lost_belong_to_its_version_and_to_the_request(
    chat: str, with_values: bool
) -> None:
    """A request is built again with them if it had them, whatever the settings say now."""
    assert fold(chat, 4).values == ""
    Summary.objects.update(report={"lost": [["TRK10020030", 3], ["2026-03-04", 4]]})
    found = valid_summary(chat)
    assert found is not None
    assert found.values.endswith(": TRK10020030 (3); 2026-03-04 (4)")
    sent = found.with_values() if with_values else found
    item = AddedMessage.of(summary_message(sent.text, sent.tokens), "summary", id=found.id)
    receipt = {"layout": [item.to_dict(), {"first": 5, "last": 12}]}
    turn = message(chat, 12).turn
    assert turn is not None
    kept = receipts.request_parts.here(owner=ADA, turn=str(turn.id), receipt=receipt)
    assert kept.summaries == {found.id: sent.text}
    assert ("TRK10020030" in kept.summaries[found.id]) == with_values
