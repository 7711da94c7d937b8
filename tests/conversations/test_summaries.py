"""Summaries hold for exactly the path that they cover, and end with what they cover."""

from __future__ import annotations

import pytest

from chatsite.conversations import store, summaries
from chatsite.conversations.models import Message, Summary
from chatsite.conversations.reads import summary_queries
from chatsite.conversations.upkeep import edits
from chatsite.conversations.values.summary_records import SummaryState, UnsummarisedPath
from chatsite.errors import NotFound, Refused, TurnRunning
from chatsite.history import Entry, RunningSummary
from tests.conversations.builders import (
    ADA,
    BOB,
    begin,
    counted_totals,
    messages,
    new_id,
    row,
    stored_totals,
    talk,
)
from tests.conversations.builders import token_count as tokens

pytestmark = pytest.mark.django_db


def start(chat: str) -> UnsummarisedPath:
    return summary_queries.unsummarised_path(owner=ADA, conversation=chat)


def store_fold(
    chat: str, given: UnsummarisedPath, folded: list[Entry], text: str
) -> SummaryState | None:
    return summaries.fold_summary(
        owner=ADA,
        conversation=chat,
        start=given,
        folded=folded,
        messages=len(folded),
        text=text,
        by="a small model",
        tokens=tokens(9),
        report={},
    )


def fold(chat: str, count: int, text: str = "They talked.") -> RunningSummary:
    """Fold the `count` oldest messages below the summary that holds."""
    given = start(chat)
    made = store_fold(chat, given, list(given.entries[:count]), text)
    assert made is not None and made.summary is not None
    return made.summary


def holds(chat: str) -> RunningSummary | None:
    return summary_queries.summary_state(owner=ADA, conversation=chat).summary


def message(chat: str, seq: int) -> Message:
    return messages(chat).get(seq=seq)


@pytest.fixture
def chat() -> str:
    """Six turns: messages 1 to 12."""
    made = new_id()
    talk(made, 6)
    return made


class TestFolding:
    def test_coverage_and_what_is_below_it_are_the_whole_path(self, chat: str) -> None:
        assert [e.seq for e in start(chat).entries] == list(range(1, 13))
        made = fold(chat, 4)
        assert (made.version, made.first, made.last, made.messages) == (1, 1, 4, 4)
        assert [e.seq for e in start(chat).entries] == list(range(5, 13))

    def test_a_second_fold_goes_on_where_the_first_ended(self, chat: str) -> None:
        fold(chat, 4, "First.")
        made = fold(chat, 4, "Both.")
        assert (made.version, made.first, made.last, made.messages) == (2, 1, 8, 8)
        assert holds(chat) == made and made.text == "Both."
        found = summary_queries.summary_versions(owner=ADA, conversation=chat)
        assert [(v.version, v.made_from, v.why_not) for v in found.versions] == [
            (2, 1, ""),
            (1, 0, ""),
        ]

    def test_an_answer_that_is_being_written_is_not_there_yet(self, chat: str) -> None:
        begin(chat, "And?")
        assert [e.seq for e in start(chat).entries] == list(range(1, 14))

    @pytest.mark.parametrize(
        "change", ["clear", "delete", "switch", "edit", "exclude", "marker", "another fold"]
    )
    def test_nothing_is_stored_where_the_conversation_changed_meanwhile(
        self, chat: str, change: str
    ) -> None:
        given = start(chat)
        match change:
            case "clear":
                store.clear_conversation(owner=ADA, conversation=chat)
            case "delete":
                store.delete_conversation(owner=ADA, conversation=chat)
            case "switch":
                summaries.switch_summary(owner=ADA, conversation=chat, on=False)
            case "edit":
                edits.edit_message(owner=ADA, message=str(message(chat, 2).id), text="New")
            case "exclude":
                messages(chat).filter(seq=3).update(excluded=True)
            case "marker":
                forget_above(chat, 3)
            case "another fold":
                fold(chat, 2)
        before = Summary.objects.count()
        assert store_fold(chat, given, list(given.entries[:4]), "Too late.") is None
        assert Summary.objects.count() == before

    def test_what_comes_below_meanwhile_changes_nothing(self, chat: str) -> None:
        given = start(chat)
        talk(chat, 1)
        edits.edit_message(owner=ADA, message=str(message(chat, 12).id), text="New")
        assert store_fold(chat, given, list(given.entries[:4]), "In time.") is not None


def forget_above(chat: str, seq: int) -> None:
    conversation = row(chat)
    conversation.forget_above = seq
    conversation.save()


class TestHolding:
    def test_the_marker_inside_the_coverage_ends_it_and_taking_it_back_brings_it_back(
        self, chat: str
    ) -> None:
        made = fold(chat, 8)
        for seq in (3, 9):
            forget_above(chat, seq)
            assert holds(chat) is None
            assert [e.seq for e in start(chat).entries] == list(range(seq, 13))
        forget_above(chat, 0)
        assert holds(chat) == made

    def test_one_made_below_the_marker_covers_nothing_above_it(self, chat: str) -> None:
        forget_above(chat, 5)
        made = fold(chat, 4)
        assert (made.first, made.last) == (5, 8)
        assert holds(chat) == made
        forget_above(chat, 0)
        assert holds(chat) is None, "messages 1 to 4 would be missing"

    def test_on_another_branch_the_version_from_before_it_holds(self, chat: str) -> None:
        older, newer = fold(chat, 4), fold(chat, 4)
        assert holds(chat) == newer
        messages(chat).filter(seq__gt=6).update(on_path=False)
        assert holds(chat) == older
        assert [e.seq for e in start(chat).entries] == [5, 6]
        found = summary_queries.summary_versions(owner=ADA, conversation=chat)
        assert (found.current, found.versions[0].why_not[:10]) == (1, "It belongs")
        messages(chat).update(on_path=True)
        assert holds(chat) == newer

    def test_after_clearing_nothing_holds(self, chat: str) -> None:
        fold(chat, 4)
        store.clear_conversation(owner=ADA, conversation=chat)
        assert holds(chat) is None
        talk(chat, 1)
        assert holds(chat) is None

    def test_a_chat_not_yet_begun_has_none(self) -> None:
        assert summary_queries.summary_state(owner=ADA, conversation=new_id()) == SummaryState(
            on=True, summary=None
        )


class TestTouching:
    def test_only_versions_that_cover_the_message_become_stale(self, chat: str) -> None:
        first, second = fold(chat, 4), fold(chat, 4)
        assert summaries.mark_stale(row(chat), 9) == 0
        assert holds(chat) == second
        assert summaries.mark_stale(row(chat), 5) == 1
        assert holds(chat) == first
        assert summaries.mark_stale(row(chat), 4) == 1
        assert holds(chat) is None

    def test_a_message_of_another_branch_is_not_covered(self, chat: str) -> None:
        """Messages 5 to 12 are left; 13 and 14 answer message 4 in their place."""
        messages(chat).filter(seq__gt=4).update(on_path=False)
        talk(chat, 1)
        made = fold(chat, 6)
        assert (made.last, made.messages) == (14, 6)
        assert summaries.mark_stale(row(chat), 7) == 0
        assert summaries.mark_stale(row(chat), 13) == 1

    def test_an_edited_message_is_summarised_anew(self, chat: str) -> None:
        fold(chat, 4)
        edits.edit_message(owner=ADA, message=str(message(chat, 1).id), text="Other words here")
        assert holds(chat) is None
        assert start(chat).entries[0].message.content == "Other words here"
        assert stored_totals(chat) == counted_totals(chat)
        assert row(chat).title == "Other words here"

    def test_a_deleted_message_leaves_its_words_nowhere(self, chat: str) -> None:
        edits.edit_message(owner=ADA, message=str(message(chat, 1).id), text="SECRET plan")
        fold(chat, 2, "The SECRET plan.")
        fold(chat, 2, "Still the SECRET plan.")
        edits.delete_message(owner=ADA, message=str(message(chat, 1).id))
        assert not Summary.objects.filter(text__contains="SECRET").exists()
        assert not messages(chat).filter(content__contains="SECRET").exists()
        assert "SECRET" not in row(chat).title
        assert stored_totals(chat) == counted_totals(chat)
        found = summary_queries.summary_versions(owner=ADA, conversation=chat)
        assert {v.why_not for v in found.versions} == {
            "A message it covers was deleted, and its text with it."
        }
        assert holds(chat) is None

    def test_a_deleted_user_message_takes_nothing_else_with_it(self, chat: str) -> None:
        kept = fold(chat, 2)
        fold(chat, 2)
        edits.delete_message(owner=ADA, message=str(message(chat, 5).id))
        assert list(messages(chat).order_by("seq").values_list("seq", flat=True)) == [
            *(1, 2, 3, 4),
            *range(6, 13),
        ]
        orphan = message(chat, 6)
        assert orphan.parent == message(chat, 4) and orphan.turn_seq == 3
        assert holds(chat) == kept, "the turn of message 4 goes on with message 6 now"

    def test_deleting_where_the_marker_stands_moves_it_to_what_follows(self, chat: str) -> None:
        forget_above(chat, 5)
        edits.delete_message(owner=ADA, message=str(message(chat, 5).id))
        assert row(chat).forget_above == 6

    def test_neither_works_while_an_answer_is_written_or_for_others(self, chat: str) -> None:
        id = str(message(chat, 1).id)
        with pytest.raises(NotFound):
            edits.delete_message(owner=BOB, message=id)
        with pytest.raises(NotFound):
            edits.edit_message(owner=BOB, message=id, text="Mine")
        begin(chat, "And?")
        with pytest.raises(TurnRunning):
            edits.delete_message(owner=ADA, message=id)
        with pytest.raises(TurnRunning):
            edits.edit_message(owner=ADA, message=id, text="New")
        assert message(chat, 1).content == "question 1"


def rewrite(chat: str, version: int, text: str | None) -> RunningSummary:
    made = summaries.rewrite_summary(
        owner=ADA, conversation=chat, version=version, text=text, tokens=tokens(4)
    )
    assert made.summary is not None
    return made.summary


class TestRewriting:
    def test_an_edit_is_a_new_version_with_the_same_coverage(self, chat: str) -> None:
        fold(chat, 4)
        made = rewrite(chat, 1, "In my own words.")
        assert (made.version, made.by, made.last, made.messages) == (2, "you", 4, 4)
        assert holds(chat) == made
        assert fold(chat, 2).messages == 6

    def test_an_older_version_comes_back_as_a_new_one(self, chat: str) -> None:
        first = fold(chat, 4, "First.")
        fold(chat, 4, "Second.")
        made = rewrite(chat, 1, None)
        assert (made.version, made.text, made.by, made.last) == (3, "First.", first.by, 4)
        assert [e.seq for e in start(chat).entries] == list(range(5, 13))

    def test_a_version_that_holds_no_more_is_refused_with_the_reason(self, chat: str) -> None:
        fold(chat, 4)
        summaries.mark_stale(row(chat), 2)
        with pytest.raises(Refused, match="was changed, left out or deleted since"):
            rewrite(chat, 1, "Mine.")
        with pytest.raises(NotFound):
            rewrite(chat, 7, "Mine.")
        assert Summary.objects.count() == 1

    def test_switched_off_it_stays_readable(self, chat: str) -> None:
        made = fold(chat, 4)
        off = summaries.switch_summary(owner=ADA, conversation=chat, on=False)
        assert off == SummaryState(on=False, summary=made)
        assert (off.view.on, off.view.version) == (False, 1)

    def test_others_find_nothing(self, chat: str) -> None:
        fold(chat, 4)
        for ask in (
            lambda: summary_queries.summary_state(owner=BOB, conversation=chat),
            lambda: summary_queries.unsummarised_path(owner=BOB, conversation=chat),
            lambda: summary_queries.summary_versions(owner=BOB, conversation=chat),
            lambda: summary_queries.summary_text(owner=BOB, conversation=chat, version=1),
            lambda: summaries.switch_summary(owner=BOB, conversation=chat, on=False),
            lambda: summaries.rewrite_summary(
                owner=BOB, conversation=chat, version=1, text="x", tokens=tokens(1)
            ),
        ):
            with pytest.raises(NotFound):
                ask()
        assert row(chat).summary_on
