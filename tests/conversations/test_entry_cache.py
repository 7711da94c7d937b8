"""An entry is made once from its row, and used again as long as the row is unchanged."""

from __future__ import annotations

import pytest
from django.contrib.auth.models import User

from chatsite.accounts.removal import remove_account
from chatsite.conversations.database.columns import key
from chatsite.conversations.database.statements import ENTRIES
from chatsite.conversations.lifecycle import clear_conversation, delete_conversation
from chatsite.conversations.models import Conversation
from chatsite.conversations.path import loading
from chatsite.conversations.path.entry_cache import FEW, LEFT_ABOVE, EntryCache, Row
from chatsite.conversations.versions.deletions import delete_message
from chatsite.conversations.versions.edits import edit_message
from chatsite.history import Entry, Everything
from tests.conversations.builders import ADA, messages, new_id, talk

pytestmark = pytest.mark.django_db
TURNS = FEW


def chat_of(turns: int = TURNS) -> str:
    chat = new_id()
    talk(chat, turns)
    return chat


def entries_of(chat: str) -> tuple[Entry, ...]:
    return loading.load_path.here(
        owner=ADA, conversation=chat, reach=Everything()
    ).transcript.entries


def rows_of(chat: str) -> list[Row]:
    return ENTRIES.unconverted("conversation_id = %s ORDER BY seq", key(chat))


def made_again(cache: EntryCache, chat: str) -> int:
    """How many entries of the conversation aren't found in the cache."""
    first, second = (cache.entries(chat, lambda: rows_of(chat)) for _ in range(2))
    return sum(one is not other for one, other in zip(first, second, strict=True))


class TestReading:
    def test_an_unchanged_message_is_returned_as_the_same_entry(self) -> None:
        chat = chat_of()
        first, second = entries_of(chat), entries_of(chat)
        assert len(first) == 2 * TURNS
        assert all(one is other for one, other in zip(first, second, strict=True))

    @pytest.mark.parametrize(
        "change", [{"content": "Changed."}, {"pinned": True}, {"tokens": 99}, {"kv_status": 0}]
    )
    def test_a_change_in_any_column_makes_a_new_entry(self, change: dict[str, object]) -> None:
        chat = chat_of()
        before = entries_of(chat)
        messages(chat).filter(seq=before[4].seq).update(**change)
        after = entries_of(chat)
        again = [one is not other for one, other in zip(before, after, strict=True)]
        assert [place for place, made in enumerate(again) if made] == [4]
        assert after[4] != before[4]

    @pytest.mark.django_db(transaction=True)
    @pytest.mark.parametrize("way", ["edit", "delete", "clear", "delete conversation"])
    def test_a_removed_message_is_dropped_from_memory(self, way: str) -> None:
        chat = chat_of()
        entries_of(chat)
        assert loading._cache.holds(chat)
        last = str(messages(chat).latest("seq").id)
        match way:
            case "edit":
                edit_message.here(owner=ADA, message=last, text="Other.")
            case "delete":
                delete_message.here(owner=ADA, message=last)
            case "clear":
                clear_conversation.here(owner=ADA, conversation=chat)
            case _:
                delete_conversation.here(owner=ADA, conversation=chat)
        assert not loading._cache.holds(chat)

    @pytest.mark.django_db(transaction=True)
    def test_the_conversations_of_a_deleted_account_are_dropped_from_memory(self) -> None:
        chat = chat_of()
        entries_of(chat)
        ada = User.objects.create_user("ada")
        Conversation.objects.update(user=ada, guest="")
        remove_account.here(user=ada.pk)
        assert not loading._cache.holds(chat)

    def test_what_was_read_before_it_was_removed_is_not_kept(self) -> None:
        chat, cache = chat_of(), EntryCache()

        def read() -> list[Row]:
            rows = rows_of(chat)
            cache.forget(chat)
            return rows

        assert len(cache.entries(chat, read)) == 2 * TURNS
        assert not cache.holds(chat)


class TestBounds:
    def test_the_conversation_read_the_longest_ago_goes_as_a_whole(self) -> None:
        chats = [chat_of() for _ in range(4)]
        one = EntryCache()
        one.entries(chats[0], lambda: rows_of(chats[0]))
        cache = EntryCache(most=3 * one.bytes + 100, share=one.bytes + 100)
        for chat in chats[:3]:
            assert made_again(cache, chat) == 0
        assert made_again(cache, chats[0]) == 0
        made_again(cache, chats[3])
        assert [cache.holds(chat) for chat in chats] == [2 * TURNS, 0, 2 * TURNS, 2 * TURNS]
        assert cache.bytes == 3 * one.bytes

    def test_of_a_conversation_above_its_share_the_newest_messages_are_kept(self) -> None:
        short, long = chat_of(), chat_of(3 * TURNS)
        one = EntryCache()
        one.entries(short, lambda: rows_of(short))
        cache = EntryCache(most=4 * one.bytes, share=2 * one.bytes)
        made_again(cache, short)
        missing = made_again(cache, long)
        assert 0 < missing <= 2 * TURNS + 2
        kept = cache.entries(long, lambda: rows_of(long)[missing:])
        again = cache.entries(long, lambda: rows_of(long)[missing:])
        assert all(one is other for one, other in zip(kept, again, strict=True))
        assert made_again(cache, short) == 0
        assert cache.bytes <= 3 * one.bytes

    def test_a_window_that_moves_on_replaces_what_it_left(self) -> None:
        chat = chat_of(3 * TURNS)
        rows = rows_of(chat)
        one = EntryCache()
        one.entries(chat, lambda: rows[: 2 * TURNS])
        cache = EntryCache(most=one.bytes * 2, share=one.bytes + 100)
        for start in range(2 * TURNS):
            window = rows[start : start + 2 * TURNS]
            first, second = (cache.entries(chat, lambda: window) for _ in range(2))  # noqa: B023
            assert all(one is other for one, other in zip(first, second, strict=True))

    def test_what_a_policy_left_above_its_reach_is_kept_only_for_a_while(self) -> None:
        chat = chat_of(2 * LEFT_ABOVE * TURNS)
        rows, cache = rows_of(chat), EntryCache()
        cache.entries(chat, lambda: rows[: 2 * TURNS], is_path=True)
        (quoted,) = cache.entries(chat, lambda: rows[-1:])
        cache.entries(chat, lambda: rows[: 2 * TURNS], is_path=True)
        assert cache.entries(chat, lambda: rows[-1:])[0] is quoted
        for start in range(0, len(rows) - 2 * TURNS, 8):
            window = rows[start : start + 2 * TURNS]
            first, second = (
                cache.entries(chat, lambda: window, is_path=True)  # noqa: B023
                for _ in range(2)
            )
            assert all(one is other for one, other in zip(first, second, strict=True))
            assert cache.holds(chat) <= LEFT_ABOVE * 2 * TURNS < len(rows)

    def test_the_few_messages_of_a_conversation_that_has_just_begun_are_not_kept(self) -> None:
        chat, cache = chat_of(1), EntryCache()
        assert made_again(cache, chat) == 2
        assert cache.bytes == 0
