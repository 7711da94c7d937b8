"""A message is hidden when it is deleted, comes back as it was, and is removed an hour later."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.utils import timezone

from chatsite.accounts import removal as accounts
from chatsite.conversations.models import Message, Summary
from chatsite.conversations.path import loading, queries
from chatsite.conversations.path.marks import forget_above_message, pin_message
from chatsite.conversations.search.text_search import search_text
from chatsite.conversations.search.word_index import index_words
from chatsite.conversations.summaries import queries as summary_queries
from chatsite.conversations.summaries import versions as summaries
from chatsite.conversations.turn import receipts
from chatsite.conversations.turn.end import end_turn
from chatsite.conversations.versions import deletions, edits
from chatsite.conversations.versions.versions import show_version
from chatsite.errors import NotFound, TurnRunning
from chatsite.history import Everything
from tests.conversations.builders import (
    ADA,
    BOB,
    begin,
    counted_totals,
    delete,
    edit,
    end,
    messages,
    new_id,
    retry,
    row,
    shown_messages,
    stored_totals,
    talk,
    token_count,
)

pytestmark = pytest.mark.django_db


@pytest.fixture
def chat() -> str:
    """Three turns."""
    conversation = new_id()
    talk(conversation, 3)
    return conversation


def message_id(chat: str, seq: int) -> str:
    return str(messages(chat).get(seq=seq).id)


def read(chat: str) -> list[str | None]:
    loaded = loading.load_path.here(owner=ADA, conversation=chat, reach=Everything())
    return [entry.message.content for entry in loaded.transcript.entries]


def test_a_deleted_message_is_neither_shown_nor_sent_nor_found_nor_exported(chat: str) -> None:
    while index_words.here():
        pass
    gone = message_id(chat, 4)
    change = deletions.delete_message.here(owner=ADA, message=gone)
    assert change.changed.gone == (gone,) and change.below is None
    left = ["question 1", "answer 1", "question 2", "question 3", "answer 3"]
    assert [text for _, text in shown_messages(chat)] == read(chat) == left
    found = search_text.here(owner=ADA, text="answer 2")
    assert not any(hit.seq == 4 for hit in found.hits)
    assert accounts.messages_aside.here(owner=ADA, conversation=chat) == []
    assert stored_totals(chat) == counted_totals(chat)
    for again in (deletions.delete_message, show_version, pin_message):
        options = {"on": True} if again is pin_message else {}
        with pytest.raises(NotFound):
            again.here(owner=ADA, message=gone, **options)


@pytest.mark.parametrize("seq", range(1, 7))
def test_it_comes_back_as_it_was_also_after_the_talk_went_on(chat: str, seq: int) -> None:
    before = shown_messages(chat)
    gone = message_id(chat, seq)
    deletions.delete_message.here(owner=ADA, message=gone)
    end(begin(chat, "Go on"), "Gone on.")
    deletions.restore_message.here(owner=ADA, message=gone)
    after = [("user", "Go on"), ("assistant", "Gone on.")]
    assert shown_messages(chat) == [*before, *after]
    turns = [m.turn_seq for m in messages(chat).filter(on_path=True).order_by("seq")]
    assert turns == [1, 1, 3, 3, 5, 5, 7, 7]
    assert (row(chat).title, row(chat).hidden) == ("question 1", 0)
    assert stored_totals(chat) == counted_totals(chat)


def test_marks_and_the_marker_come_back_with_it(chat: str) -> None:
    asked = message_id(chat, 5)
    pin_message.here(owner=ADA, message=asked, on=True)
    forget_above_message.here(owner=ADA, message=asked, on=True)
    deletions.delete_message.here(owner=ADA, message=asked)
    assert (row(chat).marked, row(chat).forget_above) == (0, 7)
    deletions.restore_message.here(owner=ADA, message=asked)
    assert (row(chat).marked, row(chat).forget_above) == (1, 5)


def test_a_deleted_version_gives_its_place_to_another_and_takes_it_back(chat: str) -> None:
    first = message_id(chat, 6)
    second = retry(chat, first)
    end(second, "Better.")
    change = deletions.delete_message.here(owner=ADA, message=second.answer)
    assert change.below == 5 and shown_messages(chat)[-1] == ("assistant", "answer 3")
    opened = queries.open_conversation.here(owner=ADA, conversation=chat)
    assert opened.messages[-1].versions == ()
    change = deletions.restore_message.here(owner=ADA, message=second.answer)
    assert change.below == 5 and shown_messages(chat)[-1] == ("assistant", "Better.")
    opened = queries.open_conversation.here(owner=ADA, conversation=chat)
    assert [one.id for one in opened.messages[-1].versions] == [first, second.answer]


def test_what_comes_back_from_another_branch_is_shown(chat: str) -> None:
    before, gone = shown_messages(chat), message_id(chat, 4)
    deletions.delete_message.here(owner=ADA, message=gone)
    end(edit(chat, message_id(chat, 1), "Or rather?"))
    deletions.restore_message.here(owner=ADA, message=gone)
    assert shown_messages(chat) == before


def test_a_summary_rests_while_a_message_of_it_is_hidden(chat: str) -> None:
    given = summary_queries.unsummarised_path.here(owner=ADA, conversation=chat)
    summaries.fold_summary.here(
        owner=ADA, conversation=chat, start=given, folded=given.entries[:4], messages=4,
        text="S", by="m", tokens=token_count(1), report={},
    )  # fmt: skip
    gone = message_id(chat, 2)

    def holding() -> str | None:
        state = summary_queries.summary_state.here(owner=ADA, conversation=chat)
        return state.summary.text if state.summary else None

    assert holding() == "S"
    deletions.delete_message.here(owner=ADA, message=gone)
    assert holding() is None
    [version] = summary_queries.summary_versions.here(owner=ADA, conversation=chat).versions
    assert (version.text, version.why_not) == ("", summary_queries.TEXT_DELETED)
    given = summary_queries.unsummarised_path.here(owner=ADA, conversation=chat)
    summaries.fold_summary.here(
        owner=ADA, conversation=chat, start=given, folded=given.entries[:3], messages=3,
        text="Without.", by="m", tokens=token_count(1), report={},
    )  # fmt: skip
    assert holding() == "Without."
    deletions.restore_message.here(owner=ADA, message=gone)
    assert holding() == "S", "the newer one lacks the message"


def test_an_hour_later_its_words_are_gone_and_what_was_below_it_stays(chat: str) -> None:
    gone = message_id(chat, 3)
    deletions.delete_message.here(owner=ADA, message=gone)
    characters = row(chat).characters
    now = timezone.now()
    assert deletions.purge_messages.here(now=now + timedelta(minutes=59)) == 0
    assert deletions.purge_messages.here(now=now + timedelta(minutes=61)) == 1
    assert not messages(chat).filter(id=gone).exists()
    assert messages(chat).get(seq=4).parent_id == messages(chat).get(seq=2).id
    assert row(chat).characters == characters - len("question 2") and row(chat).hidden == 0
    with pytest.raises(NotFound):
        deletions.restore_message.here(owner=ADA, message=gone)
    assert stored_totals(chat) == counted_totals(chat)


def test_a_request_whose_own_messages_are_all_gone_isnt_built_in_part(chat: str) -> None:
    begun = begin(chat, "And the moon?")
    end_turn.here(
        turn=begun.turn,
        state="failed",
        text="",
        tokens=None,
        receipt={"layout": [{"first": 1, "last": 7}]},
    )
    kept = receipts.request_parts.here(owner=ADA, turn=begun.turn)
    assert [entry.seq for entry in kept.entries] == [1, 2, 3, 4, 5, 6, 7]
    deletions.delete_message.here(owner=ADA, message=message_id(chat, 7))
    deletions.purge_messages.here(now=timezone.now() + timedelta(hours=2))
    with pytest.raises(NotFound, match="deleted for good"):
        receipts.request_parts.here(owner=ADA, turn=begun.turn)


def test_others_and_a_running_answer_change_nothing(chat: str) -> None:
    gone, other = message_id(chat, 2), message_id(chat, 4)
    deletions.delete_message.here(owner=ADA, message=gone)
    with pytest.raises(NotFound):
        deletions.delete_message.here(owner=BOB, message=other)
    with pytest.raises(NotFound):
        deletions.restore_message.here(owner=BOB, message=gone)
    before = shown_messages(chat)
    begin(chat, "And?")
    with pytest.raises(TurnRunning):
        deletions.delete_message.here(owner=ADA, message=other)
    with pytest.raises(TurnRunning):
        deletions.restore_message.here(owner=ADA, message=gone)
    assert shown_messages(chat)[:-1] == before


def test_a_reply_to_a_deleted_message_shows_nothing_of_it(chat: str) -> None:
    Message.objects.filter(id=message_id(chat, 5)).update(reply_to=message_id(chat, 2))
    deletions.delete_message.here(owner=ADA, message=message_id(chat, 2))
    opened = queries.open_conversation.here(owner=ADA, conversation=chat)
    assert opened.messages[3].reply is None


def test_a_corrected_answer_stands_beside_the_one_that_the_model_wrote(chat: str) -> None:
    answer = messages(chat).get(seq=2)
    change = edits.edit_message.here(owner=ADA, message=str(answer.id), text="Corrected.")
    (view,) = change.changed.messages
    first, second = view.versions
    assert view.edited and (first.edited, second.edited) == (False, True)
    assert (second.id, first.id) != (first.id, second.id) and second.id == str(answer.id)
    former = messages(chat).get(id=first.id)
    assert (former.content, former.turn_id) == ("answer 1", answer.turn_id)
    assert read(chat)[1] == "Corrected." and len(read(chat)) == 6
    show_version.here(owner=ADA, message=first.id)
    assert read(chat) == ["question 1", "answer 1"]
    show_version.here(owner=ADA, message=second.id)
    assert len(read(chat)) == 6, "what was below it stays below it"
    edits.edit_message.here(owner=ADA, message=str(answer.id), text="Corrected again.")
    opened = queries.open_conversation.here(owner=ADA, conversation=chat)
    assert [one.edited for one in opened.messages[1].versions] == [False, True, True]


def test_a_retry_that_fails_brings_the_corrected_answer_back(chat: str) -> None:
    answer = message_id(chat, 6)
    edits.edit_message.here(owner=ADA, message=answer, text="Corrected.")
    tried = retry(chat, answer)
    end_turn.here(turn=tried.turn, state="failed", text="")
    assert shown_messages(chat)[-1] == ("assistant", "Corrected.")


def test_a_corrected_question_keeps_its_answer(chat: str) -> None:
    change = edits.edit_message.here(owner=ADA, message=message_id(chat, 1), text="Question one")
    (view,) = change.changed.messages
    assert view.edited and view.versions == ()
    assert read(chat)[:2] == ["Question one", "answer 1"]
    assert row(chat).title == "Question one"


def test_removing_it_for_good_also_removes_its_summaries_words(chat: str) -> None:
    given = summary_queries.unsummarised_path.here(owner=ADA, conversation=chat)
    summaries.fold_summary.here(
        owner=ADA, conversation=chat, start=given, folded=given.entries[:4], messages=4,
        text="SECRET", by="m", tokens=token_count(1), report={},
    )  # fmt: skip
    delete(message_id(chat, 2))
    assert not Summary.objects.filter(text__contains="SECRET").exists()
