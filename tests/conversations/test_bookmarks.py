"""Bookmarks: for a person alone, listed over all their chats, kept by an export, not by a copy."""

from __future__ import annotations

import pytest

from chatsite.conversations.copies import copy_path, read_for_copy
from chatsite.conversations.files.export import write_export
from chatsite.conversations.lifecycle import delete_conversation, undelete_conversation
from chatsite.conversations.path.marks import bookmark_message
from chatsite.conversations.path.queries import whole_path
from chatsite.conversations.search.text_search import FEW, bookmarked_messages
from chatsite.conversations.versions.deletions import delete_message, restore_message
from chatsite.errors import NotFound
from tests.conversations.builders import ADA, BOB, messages, new_id, row, shown_messages, talk
from tests.imported import import_conversation, read_export

pytestmark = pytest.mark.django_db


@pytest.fixture
def chat() -> str:
    """Three turns."""
    conversation = new_id()
    talk(conversation, 3)
    return conversation


def bookmark(chat: str, seq: int, *, on: bool = True) -> None:
    id = str(messages(chat).get(seq=seq).id)
    bookmark_message.here(owner=ADA, message=id, on=on)


def listed() -> list[str]:
    found = bookmarked_messages.here(owner=ADA)
    return ["".join(text for text, _ in hit.parts) for hit in found.hits]


def test_those_of_all_chats_are_listed_the_newest_message_first(chat: str) -> None:
    other = new_id()
    talk(other, 1)
    bookmark(other, 2)
    bookmark(chat, 5)
    bookmark(chat, 2)
    assert listed() == ["answer 1", "question 3", "answer 1"]
    hit = bookmarked_messages.here(owner=ADA).hits[1]
    assert (hit.conversation, hit.title, hit.seq, hit.role) == (chat, "question 1", 5, "user")
    assert bookmarked_messages.here(owner=BOB).hits == ()
    bookmark(chat, 5, on=False)
    assert listed() == ["answer 1", "answer 1"]


def test_one_changes_nothing_that_is_sent(chat: str) -> None:
    before = row(chat)
    bookmark(chat, 3)
    after = row(chat)
    assert (after.marked, after.path_tokens) == (before.marked, before.path_tokens)
    assert messages(chat).get(seq=3).excluded is False


def test_nobody_bookmarks_a_message_of_somebody_else(chat: str) -> None:
    with pytest.raises(NotFound):
        bookmark_message.here(owner=BOB, message=str(messages(chat).get(seq=1).id), on=True)


def test_deleted_messages_and_chats_arent_listed_and_come_back_with_theirs(chat: str) -> None:
    bookmark(chat, 4)
    id = str(messages(chat).get(seq=4).id)
    delete_message.here(owner=ADA, message=id)
    assert listed() == []
    restore_message.here(owner=ADA, message=id)
    assert listed() == ["answer 2"]
    delete_conversation.here(owner=ADA, conversation=chat)
    assert listed() == []
    undelete_conversation.here(owner=ADA, conversation=chat)
    assert listed() == ["answer 2"]


def test_a_long_list_comes_in_pages(chat: str) -> None:
    messages(chat).update(bookmarked=True)
    long = new_id()
    talk(long, FEW // 2)
    messages(long).update(bookmarked=True)
    first = bookmarked_messages.here(owner=ADA)
    assert (len(first.hits), first.more) == (FEW, FEW)
    rest = bookmarked_messages.here(owner=ADA, after=FEW)
    assert (len(rest.hits), rest.more) == (6, None)
    places = {(hit.conversation, hit.seq) for hit in first.hits + rest.hits}
    assert len(places) == FEW + 6


def test_an_export_keeps_them_and_a_chat_that_goes_on_elsewhere_doesnt(chat: str) -> None:
    bookmark(chat, 2)
    saved = read_export(write_export(whole_path.here(owner=ADA, conversation=chat)))
    again = import_conversation.here(
        owner=ADA,
        agent="demo",
        title=saved.title,
        messages=saved.messages,
        bookmarked=saved.bookmarked,
    )
    assert [one.seq for one in messages(again.id) if one.bookmarked] == [2]
    path = read_for_copy.here(owner=ADA, message=str(messages(chat).get(seq=6).id))
    copied = copy_path.here(owner=ADA, copy=path, id=new_id())
    assert len(shown_messages(copied.id)) == 6
    assert not messages(copied.id).filter(bookmarked=True).exists()
