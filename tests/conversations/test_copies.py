"""The path up to a message is copied into a new conversation, which goes its own way."""

from __future__ import annotations

from typing import Any

import pytest

from chatsite.conversations.copies import copy_path, read_for_copy
from chatsite.conversations.files.uploads import find_upload, upload_folder
from chatsite.conversations.lifecycle import choose_history, delete_conversation
from chatsite.conversations.models import Conversation
from chatsite.conversations.owners import Owner
from chatsite.conversations.path.marks import exclude_message, forget_above_message, pin_message
from chatsite.conversations.path.queries import list_conversations
from chatsite.conversations.turn.end import end_turn
from chatsite.conversations.versions.deletions import delete_message
from chatsite.errors import NotFound, Refused
from chatsite.messages import Attachment
from chatsite.storage import ROWS, next_piece
from chatsite.views import ConversationView
from tests.conversations.builders import (
    ADA,
    BOB,
    begin,
    begin_round,
    counted_totals,
    messages,
    new_id,
    row,
    shown_messages,
    stored_totals,
    talk,
    tool_call_message,
)
from tests.conversations.upload_builders import Keep, conversation_with, folder, keep

__all__ = ["folder", "keep"]

pytestmark = pytest.mark.django_db


@pytest.fixture
def chat() -> str:
    """Three turns."""
    conversation = new_id()
    talk(conversation, 3)
    return conversation


def message_id(chat: str, seq: int) -> str:
    return str(messages(chat).get(seq=seq).id)


def copied(message: str, *, id: str = "", owner: Owner = ADA) -> ConversationView:
    path = read_for_copy.here(owner=owner, message=message)
    return copy_path.here(owner=owner, copy=path, id=id or new_id())


@pytest.mark.parametrize("seq", [1, 2, 3, 6])
def test_the_copy_has_what_was_said_up_to_the_message(chat: str, seq: int) -> None:
    before = shown_messages(chat)
    made = copied(message_id(chat, seq))
    assert shown_messages(made.id) == before[:seq] and shown_messages(chat) == before
    assert stored_totals(made.id) == counted_totals(made.id)
    assert made.title == f"{row(chat).title} (2)"
    assert not {one.id for one in messages(made.id)} & {one.id for one in messages(chat)}
    begin(made.id, "And then?")
    assert shown_messages(made.id) == [*before[:seq], ("user", "And then?")]


def test_marks_quotes_counts_and_choices_come_along(chat: str) -> None:
    pin_message.here(owner=ADA, message=message_id(chat, 1), on=True)
    exclude_message.here(owner=ADA, message=message_id(chat, 4), on=True)
    forget_above_message.here(owner=ADA, message=message_id(chat, 3), on=True)
    choose_history.here(owner=ADA, conversation=chat, history={"historyPolicy": "all"})
    messages(chat).filter(seq=4).update(quoted=[1])
    made = copied(message_id(chat, 4))
    facts = ("seq", "turn_seq", "pinned", "excluded", "quoted", "tokens", "created", "state")
    assert list(messages(made.id).order_by("seq").values(*facts)) == list(
        messages(chat).filter(seq__lte=4).order_by("seq").values(*facts)
    )
    assert row(made.id).forget_above == 3 and row(made.id).marked == 2
    assert made.history == {"historyPolicy": "all"}
    assert row(copied(message_id(chat, 2)).id).forget_above == 0


def test_a_copy_lies_in_the_same_folder_and_isnt_pinned(chat: str) -> None:
    Conversation.objects.update(folder="Taxes", pinned=row(chat).updated)
    copy = copied(message_id(chat, 6))
    assert (copy.folder, copy.pinned, row(chat).pinned is None) == ("Taxes", None, False)


def test_other_versions_stay_where_they_are_and_the_copy_changes_nothing_there(chat: str) -> None:
    made = copied(message_id(chat, 2))
    delete_message.here(owner=ADA, message=message_id(made.id, 1))
    delete_conversation.here(owner=ADA, conversation=made.id)
    assert len(shown_messages(chat)) == 6


def test_the_same_id_gives_the_same_copy(chat: str) -> None:
    id, before = new_id(), Conversation.objects.count()
    assert copied(message_id(chat, 2), id=id) == copied(message_id(chat, 2), id=id)
    assert Conversation.objects.count() == before + 1


def test_nobody_copies_from_or_onto_another_persons_conversation(chat: str) -> None:
    with pytest.raises(NotFound):
        read_for_copy.here(owner=BOB, message=message_id(chat, 2))
    theirs = new_id()
    talk(theirs, 1, owner=BOB)
    with pytest.raises(NotFound):
        copied(message_id(chat, 2), id=theirs)
    assert messages(theirs).count() == 2


def test_a_tool_call_is_copied_with_its_result(chat: str) -> None:
    begun = begin(chat, "What time is it?")
    begin_round(begun.turn, tool_call_message("now"), id=begun.answer, answer=new_id())
    end_turn.here(turn=begun.turn, state="complete", text="Noon.")
    call = messages(chat).exclude(calls=[]).get()
    made = copied(str(call.id))
    assert [role for role, _ in shown_messages(made.id)][-3:] == ["user", "assistant", "tool"]


def test_an_answer_that_is_being_written_is_refused(chat: str) -> None:
    begun = begin(chat, "And then?")
    answer = messages(chat).get(turn__id=begun.turn, role="assistant")
    with pytest.raises(Refused, match="still being written"):
        read_for_copy.here(owner=ADA, message=str(answer.id))


def test_files_come_along_and_stay_when_the_original_is_removed(
    keep: Keep, django_capture_on_commit_callbacks: Any
) -> None:
    plan = keep(b"My plan")
    chat = conversation_with(plan)
    said = {name: getattr(plan, name) for name in Attachment.__slots__}
    messages(chat).filter(seq=1).update(attachments=[said])
    made = copied(message_id(chat, 1))
    (file,) = messages(made.id).get(seq=1).attachments
    assert file["id"] != plan.id and file["name"] == plan.name
    with django_capture_on_commit_callbacks(execute=True):
        Conversation.objects.get(id=chat).delete()
    with pytest.raises(NotFound):
        find_upload.here(ADA, id=plan.id)
    attachment = find_upload.here(ADA, id=file["id"])
    path = upload_folder().path(attachment.id)
    assert attachment.name == plan.name and path.read_bytes() == b"My plan"


def test_a_long_path_is_written_in_pieces_and_found_when_it_is_whole() -> None:
    chat, id = new_id(), new_id()
    talk(chat, ROWS)
    path = read_for_copy.here(owner=ADA, message=message_id(chat, 2 * ROWS))
    steps, pieces, ended = copy_path.pieces(owner=ADA, copy=path, id=id), 0, False
    while not ended:
        with_it = [one.id for one in list_conversations.here(owner=ADA, after=None)[0]]
        assert id not in with_it
        ended, _ = next_piece(steps)
        pieces += 1
    assert pieces == 3
    assert messages(id).count() == 2 * ROWS and stored_totals(id) == counted_totals(id)


def test_a_copy_counts_for_the_quota(chat: str, settings: Any) -> None:
    before, settings.WORDS_QUOTA_MILLION = Conversation.objects.count(), 0
    with pytest.raises(Refused, match="million characters"):
        copied(message_id(chat, 2))
    assert Conversation.objects.count() == before
