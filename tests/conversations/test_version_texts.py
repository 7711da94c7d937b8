"""Both sides of a comparison are read as they are stored, on the path and off it."""

from __future__ import annotations

import pytest

from chatsite.conversations.lifecycle import clear_conversation
from chatsite.conversations.turn.end import end_turn
from chatsite.conversations.versions import deletions
from chatsite.conversations.versions.edits import ExchangePart, edit_message, version_text
from chatsite.conversations.versions.versions import show_version
from chatsite.errors import NotFound
from tests.conversations.builders import (
    ADA,
    BOB,
    begin,
    begin_round,
    edit,
    end,
    messages,
    new_id,
    retry,
    row,
    talk,
    tool_call_message,
)


def message_id(chat: str, seq: int) -> str:
    return str(messages(chat).get(seq=seq).id)


def both(message: str) -> tuple[str | None, str | None]:
    """The texts of the question and of the answer."""
    found = version_text.here(owner=ADA, message=message)
    return (
        found.question.text if found.question else None,
        found.answer.text if found.answer else None,
    )


@pytest.mark.django_db
def test_answers_to_one_question_have_that_question_and_their_own_text_and_turn() -> None:
    chat = new_id()
    talk(chat, 2)
    first = message_id(chat, 4)
    begun = retry(chat, first)
    end(begun, "Better.")
    assert both(first) == ("question 2", "answer 2")
    found = version_text.here(owner=ADA, message=begun.answer)
    assert found.answer == ExchangePart(id=begun.answer, turn=begun.turn, text="Better.")
    assert found.question and found.question.id == message_id(chat, 3)


@pytest.mark.django_db
def test_an_edited_question_has_the_answer_that_would_be_shown_with_it() -> None:
    chat = new_id()
    talk(chat, 1)
    asked, first = message_id(chat, 1), message_id(chat, 2)
    end(retry(chat, first), "Second.")
    show_version.here(owner=ADA, message=first)
    end(begin(chat, "Going on"), "Below the first.")
    changed = edit(chat, asked, "Otherwise?")
    end(changed, "Otherwise.")
    assert both(changed.asked) == ("Otherwise?", "Otherwise.")
    assert both(asked) == ("question 1", "answer 1"), "the newest branch goes on from there"
    show_version.here(owner=ADA, message=asked)
    assert both(asked) == ("question 1", "answer 1")


@pytest.mark.django_db
def test_an_answer_with_tools_is_read_as_a_whole_from_any_of_its_messages() -> None:
    chat = new_id()
    begun = begin(chat, "When?")
    calling, last = tool_call_message("tides", text="Let me see."), new_id()
    begin_round(begun.turn, calling, id=begun.answer, answer=last)
    end(begun, "At noon.")
    for seq in (1, 2, 3, 4):
        assert both(message_id(chat, seq)) == ("When?", "Let me see.\n\nAt noon.")


@pytest.mark.django_db
def test_what_the_model_wrote_is_read_beside_its_corrected_answer() -> None:
    chat = new_id()
    talk(chat, 1)
    corrected = message_id(chat, 2)
    edit_message.here(owner=ADA, message=corrected, text="Corrected.")
    assert both(corrected) == ("question 1", "Corrected.")
    assert both(message_id(chat, 3)) == ("question 1", "answer 1")


@pytest.mark.django_db
def test_a_question_without_an_answer_and_an_answer_without_its_question_are_told_apart() -> None:
    chat = new_id()
    failed = begin(chat, "Hello?")
    end_turn.here(turn=failed.turn, state="failed", text="", problem=None)
    assert both(failed.asked) == ("Hello?", None)
    answered = retry(chat, failed.asked)
    end(answered, "Hello!")
    deletions.delete_message.here(owner=ADA, message=failed.asked)
    assert both(answered.answer) == (None, "Hello!")


@pytest.mark.django_db
def test_what_is_missing_deleted_cleared_away_or_of_somebody_else_is_not_found() -> None:
    chat = new_id()
    talk(chat, 2)
    answer, asked = message_id(chat, 4), message_id(chat, 1)
    words = []
    for owner, message in ((BOB, answer), (ADA, new_id())):
        with pytest.raises(NotFound) as refused:
            version_text.here(owner=owner, message=message)
        words.append(refused.value.message)
    deletions.delete_message.here(owner=ADA, message=answer)
    with pytest.raises(NotFound) as refused:
        version_text.here(owner=ADA, message=answer)
    clear_conversation.here(owner=ADA, conversation=chat)
    assert row(chat).cleared
    with pytest.raises(NotFound) as cleared:
        version_text.here(owner=ADA, message=asked)
    assert {*words, refused.value.message, cleared.value.message} == {words[0]}
