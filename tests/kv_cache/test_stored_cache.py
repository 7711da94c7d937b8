"""The stored books of the engine's cache: what placing messages, a cleanup and undoing it write,
and that a saved session is dropped when one of its messages changes."""

from __future__ import annotations

import time
import uuid
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import pytest
from django.db import connection
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.django import TestCase

from chatsite.conversations import lifecycle as maintenance
from chatsite.conversations.database import statements
from chatsite.conversations.database.columns import key
from chatsite.conversations.lifecycle import (
    clear_conversation,
    delete_conversation,
    move_to_account,
    undelete_conversation,
)
from chatsite.conversations.models import Conversation, Message
from chatsite.conversations.path import loading, marks
from chatsite.conversations.path.cache_places import (
    bring_back_turns,
    mark_for_cleanup,
    mark_turns,
    place_books,
)
from chatsite.conversations.versions.deletions import delete_message
from chatsite.conversations.versions.edits import edit_message
from chatsite.conversations.versions.versions import show_version
from chatsite.errors import NotFound, TurnRunning
from chatsite.history import Everything
from chatsite.kv_cache.books import Book, Session, SessionFile, Span
from chatsite.kv_cache.models import KvSession
from chatsite.kv_cache.saved_sessions import (
    drop_sessions,
    list_sessions,
    read_session,
    save_session,
    session_files,
    touch_session,
)
from chatsite.messages import Message as DomainMessage
from chatsite.storage import Unit
from tests.conversations.builders import ADA, BOB, begin, end, messages, new_id, retry, talk
from tests.imported import import_conversation

Books = dict[int, tuple[int, int, int]]
ABSENT = (-1, -1, 1)


def at(chat: str, seq: int) -> str:
    return str(messages(chat).get(seq=seq).id)


def books_of(chat: str) -> Books:
    """Start, size and status by sequence number."""
    found = messages(chat).values_list("seq", "kv_start_position", "kv_size", "kv_status")
    return {seq: (start, size, status) for seq, start, size, status in found}


def place(chat: str, sizes: dict[int, int], *, head: int = 10) -> dict[str, int]:
    """Place messages of these sizes in the cache, behind a head of `head` tokens."""
    places, start = {"head": (0, head), new_id(): (3, 4)}, head
    for seq, size in sizes.items():
        places[at(chat, seq)] = (start, size)
        start += size
    return place_books.here(conversation=chat, places=places)


def session(chat: str, *, file: str = "a.bin", size: int = 100, ids: tuple[int, ...] = ()) -> Any:
    ids = ids or (1, 2, 70_000, 9)
    book = Book(ids, (Span("head", 1), Span(at(chat, 1), len(ids) - 1)))
    return Session(
        key=chat, fingerprint="model engine f16 2048", book=book, file=file, size=size, digest="d"
    )


@pytest.fixture
def chat(db: None) -> str:
    """Three turns: messages 1 to 6."""
    conversation = new_id()
    talk(conversation, 3)
    return conversation


class TestPlaces:
    def test_messages_in_the_cache_have_their_position_stored(self, chat: str) -> None:
        assert set(books_of(chat).values()) == {ABSENT}
        assert place(chat, {1: 7, 2: 5}) == {}, "no status changes by being loaded"
        found = books_of(chat)
        assert (found[1], found[2]) == ((10, 7, 1), (17, 5, 1))
        assert {found[seq] for seq in (3, 4, 5, 6)} == {ABSENT}

    def test_a_message_that_a_policy_left_out_loses_its_position(self, chat: str) -> None:
        place(chat, {1: 7, 2: 5, 3: 4, 4: 6})
        assert place(chat, {3: 4, 4: 6}) == {}
        found = books_of(chat)
        assert (found[1], found[2]) == (ABSENT, ABSENT)
        assert (found[3], found[4]) == ((10, 4, 1), (14, 6, 1))

    def test_only_rows_that_change_are_written_to_the_database(self, chat: str) -> None:
        place(chat, dict.fromkeys(range(1, 7), 5))
        written: list[Any] = []

        def watch(execute: Any, sql: str, values: Any, many: bool, context: Any) -> Any:
            written.extend(values if sql == statements.SAVE_CACHE_PLACE else ())
            return execute(sql, values, many, context)

        with connection.execute_wrapper(watch):
            place(chat, dict.fromkeys(range(1, 7), 5))
            assert written == []
            place(chat, {1: 5, 2: 5, 3: 5, 4: 5, 5: 6, 6: 5})
        assert len(written) == 2

    def test_another_conversations_messages_are_not_touched(self, chat: str) -> None:
        other = new_id()
        talk(other, 1)
        place_books.here(conversation=chat, places={at(other, 1): (0, 5), "": (0, 1)})
        assert set(books_of(other).values()) == set(books_of(chat).values()) == {ABSENT}

    def test_an_entry_that_was_read_before_is_read_again_with_its_new_position(
        self, chat: str
    ) -> None:
        reach = Everything()
        loading.load_path.here(owner=ADA, conversation=chat, reach=reach)
        place(chat, {1: 7, 2: 5})
        loaded = loading.load_path.here(owner=ADA, conversation=chat, reach=reach)
        found = [entry.message.kv_start_position for entry in loaded.transcript.entries]
        assert found == [10, 17, -1, -1, -1, -1]

    def test_queries_use_the_indexes_and_placing_eighty_messages_is_fast(self, db: None) -> None:
        long = new_id()
        talk(long, 40)
        sizes = dict.fromkeys(range(1, 81), 20)
        place(long, sizes)
        places = {
            str(id): (start, size)
            for id, start, size in messages(long).values_list("id", "kv_start_position", "kv_size")
        }
        took = []
        for _ in range(5):
            began = time.perf_counter()
            place_books.here(conversation=long, places=places)
            took.append(time.perf_counter() - began)
        assert min(took) < 0.02, took
        for condition, index in (
            (statements.IN_CACHE, "message_in_cache"),
            (statements.CLEANED_UP, "message_cleaned_up"),
        ):
            with connection.cursor() as cursor:
                cursor.execute(
                    f"EXPLAIN QUERY PLAN {statements.CACHE_PLACES}{condition}", [key(long)]
                )
                assert index in str(cursor.fetchall())


class TestCleanups:
    def test_a_turn_in_the_cache_is_marked_and_unloaded_with_the_next_request(
        self, chat: str
    ) -> None:
        place(chat, {1: 7, 2: 5, 3: 4})
        changed = mark_turns.here(conversation=chat, turns=[1, 3])
        assert changed == {at(chat, 1): 0, at(chat, 2): 0, at(chat, 3): 0, at(chat, 4): -1}
        assert books_of(chat)[1] == (10, 7, 0)
        changed = place(chat, {5: 3, 6: 3})
        assert changed == {at(chat, 1): -1, at(chat, 2): -1, at(chat, 3): -1}
        found = books_of(chat)
        assert (found[1], found[4], found[5]) == ((-1, 7, -1), (-1, -1, -1), (10, 3, 1))
        assert mark_turns.here(conversation=chat, turns=[1, 3]) == {}

    def test_a_turn_that_was_replied_to_is_loaded_once_more_and_unloaded_again(
        self, chat: str
    ) -> None:
        mark_turns.here(conversation=chat, turns=[1])
        assert place(chat, {1: 7, 2: 5}) == {at(chat, 1): 0, at(chat, 2): 0}
        assert place(chat, {3: 4}) == {at(chat, 1): -1, at(chat, 2): -1}

    def test_every_version_of_a_turns_answer_is_unloaded_with_it(self, chat: str) -> None:
        first = at(chat, 6)
        end(retry(chat, first), "another answer 3")
        end(begin(chat, "question 4"))
        mark_turns.here(conversation=chat, turns=[5])
        assert {books_of(chat)[seq][2] for seq in (5, 6, 7)} == {-1}
        show_version.here(owner=ADA, message=first)
        assert messages(chat).get(id=first).kv_status == -1

    def test_a_greeting_is_in_no_turn(self, chat: str) -> None:
        assert mark_turns.here(conversation=chat, turns=[0]) == {}

    def test_a_person_unloads_and_brings_back(self, chat: str) -> None:
        place(chat, {1: 7, 2: 5})
        changed = mark_for_cleanup.here(owner=ADA, conversation=chat, turns=[1, 3])
        assert set(changed.values()) == {0, -1}
        changed = bring_back_turns.here(owner=ADA, conversation=chat, turns=[3])
        assert changed == {at(chat, 3): 1, at(chat, 4): 1}
        changed = bring_back_turns.here(owner=ADA, conversation=chat)
        assert changed == {at(chat, 1): 1, at(chat, 2): 1}
        found = books_of(chat)
        assert (found[1], found[3]) == ((10, 7, 1), ABSENT), "what lies there still does"

    @pytest.mark.parametrize("work", [mark_for_cleanup, bring_back_turns])
    def test_a_cleanup_is_refused_for_others_and_while_an_answer_is_written(
        self, chat: str, work: Unit[..., dict[str, int]]
    ) -> None:
        with pytest.raises(NotFound):
            work.here(owner=BOB, conversation=chat, turns=[1])
        mark_turns.here(conversation=chat, turns=[3])
        before = books_of(chat)
        begun = begin(chat, "question 4")
        with pytest.raises(TurnRunning):
            work.here(owner=ADA, conversation=chat, turns=[1, 3])
        end(begun)
        assert {seq: books_of(chat)[seq] for seq in before} == before

    def test_pinning_brings_the_whole_turn_back(self, chat: str) -> None:
        mark_turns.here(conversation=chat, turns=[1, 3])
        change = marks.pin_message.here(owner=ADA, message=at(chat, 2), on=True)
        assert change.status == {at(chat, 1): 1, at(chat, 2): 1}
        assert marks.pin_message.here(owner=ADA, message=at(chat, 4), on=False).status == {}
        assert books_of(chat)[3][2] == -1

    @pytest.mark.parametrize("mode", ["again", "continue"])
    def test_answering_again_brings_the_turn_back(self, chat: str, mode: Any) -> None:
        place(chat, {5: 3, 6: 4})
        mark_turns.here(conversation=chat, turns=[5])
        begun = retry(chat, at(chat, 6), mode=mode)
        assert begun.messages[0].message.kv_status == 1
        assert begun.loaded is not None
        assert begun.loaded.transcript.entries[-1].message.kv_status == 1
        assert books_of(chat)[5] == (10, 3, 1)

    def test_clearing_resets_all_books(self, chat: str) -> None:
        place(chat, {1: 7, 2: 5})
        mark_turns.here(conversation=chat, turns=[1, 3])
        clear_conversation.here(owner=ADA, conversation=chat)
        assert set(books_of(chat).values()) == {ABSENT}

    def test_an_edited_message_has_no_position_and_an_unloaded_one_stays_unloaded(
        self, chat: str
    ) -> None:
        place(chat, {1: 7, 2: 5, 3: 4})
        mark_turns.here(conversation=chat, turns=[1])
        for seq in (1, 3):
            edit_message.here(owner=ADA, message=at(chat, seq), text="Otherwise")
        assert (books_of(chat)[1], books_of(chat)[3]) == ((-1, -1, -1), ABSENT)


class TestSessions:
    def test_a_saved_session_is_read_back_the_same(self, chat: str) -> None:
        assert read_session.here(key=chat) is None
        ids = (0, 1, 2**31 - 1, 7, 49_151)
        saved = session(chat, ids=ids)
        assert save_session.here(conversation=chat, session=saved)
        assert bytes(KvSession.objects.get().ids)[4:12] == b"\1\0\0\0\xff\xff\xff\x7f"
        assert read_session.here(key=chat) == saved
        newer = session(chat, file="b.bin", ids=(5, 6, 7))
        assert save_session.here(conversation=chat, session=newer)
        assert read_session.here(key=chat) == newer
        assert session_files.here() == {"b.bin"}

    def test_the_session_of_an_agents_head_belongs_to_no_conversation(self, chat: str) -> None:
        book = Book((1, 2), (Span("head", 2),))
        shared = Session(
            key="head:" + "f" * 64, fingerprint="x", book=book, file="h", size=1, digest="d"
        )
        assert save_session.here(conversation=None, session=shared)
        assert read_session.here(key=shared.key) == shared

    def test_machines_that_share_a_database_know_their_own_files_alone(
        self, chat: str, settings: Any
    ) -> None:
        machines = ("machine1:", "machine2:")
        saved = [session(chat, file=f"{number}.bin") for number in (1, 2)]
        for machine, one in zip(machines, saved, strict=True):
            settings.KV_MACHINE = machine
            assert read_session.here(key=chat) is None
            assert save_session.here(conversation=chat, session=one)
        for machine, one in zip(machines, saved, strict=True):
            settings.KV_MACHINE = machine
            assert read_session.here(key=chat) == one
            assert session_files.here() == {one.file}
            assert [entry.key for entry in list_sessions.here()] == [chat]
        assert drop_sessions.here(keys=[chat]) == ("2.bin",)
        settings.KV_MACHINE = machines[0]
        assert read_session.here(key=chat) == saved[0]
        edit_message.here(owner=ADA, message=at(chat, 5), text="Otherwise")
        assert not KvSession.objects.exists(), "no machine keeps the old words"

    @pytest.mark.parametrize("change", [{"ids": b"\1\0\0"}, {"ids": b""}, {"spans": [["a", 3]]}])
    def test_a_session_that_does_not_add_up_is_not_returned(
        self, chat: str, change: dict[str, Any]
    ) -> None:
        save_session.here(conversation=chat, session=session(chat))
        KvSession.objects.update(**change)
        assert read_session.here(key=chat) is None

    def test_the_least_recently_used_sessions_are_listed_and_dropped(self, chat: str) -> None:
        other = new_id()
        talk(other, 1)
        then = datetime(2026, 11, 22, tzinfo=UTC)
        save_session.here(conversation=chat, session=session(chat), used=then)
        save_session.here(conversation=other, session=session(other, file="b.bin", size=5))
        assert SessionFile(chat, 100, then.timestamp()) in list_sessions.here()
        touch_session.here(key=chat)
        newest = max(list_sessions.here(), key=lambda entry: entry.used)
        assert newest.key == chat
        assert drop_sessions.here(keys=[chat, new_id()]) == ("a.bin",)
        assert [entry.key for entry in list_sessions.here()] == [other]

    @pytest.mark.parametrize("action", ["edit", "delete", "clear"])
    def test_removing_words_drops_the_saved_session(self, chat: str, action: str) -> None:
        save_session.here(conversation=chat, session=session(chat))
        if action == "edit":
            edit_message.here(owner=ADA, message=at(chat, 5), text="Otherwise")
        elif action == "delete":
            delete_message.here(owner=ADA, message=at(chat, 2))
        else:
            clear_conversation.here(owner=ADA, conversation=chat)
        assert read_session.here(key=chat) is None
        late = session(chat, file="late.bin") if action == "edit" else None
        if late is not None:
            assert not save_session.here(conversation=chat, session=late), "it has the old words"
            end(begin(chat, "question 4"))
            assert save_session.here(conversation=chat, session=late)

    def test_a_deleted_conversation_keeps_its_session_until_it_is_purged(self, chat: str) -> None:
        save_session.here(conversation=chat, session=session(chat))
        delete_conversation.here(owner=ADA, conversation=chat)
        assert read_session.here(key=chat) is not None
        assert not save_session.here(conversation=chat, session=session(chat, file="b.bin"))
        undelete_conversation.here(owner=ADA, conversation=chat)
        delete_conversation.here(owner=ADA, conversation=chat)
        Conversation.objects.update(deleted=datetime(2020, 1, 1, tzinfo=UTC))
        maintenance.purge()
        assert not Conversation.objects.exists() and session_files.here() == frozenset()
        assert not save_session.here(conversation=new_id(), session=one_token_session(chat))

    def test_the_session_moves_with_the_conversation_to_an_account(
        self, chat: str, django_user_model: Any
    ) -> None:
        save_session.here(conversation=chat, session=session(chat))
        user = django_user_model.objects.create_user("ada")
        move_to_account.here(guest="ada", user=user.pk)
        assert read_session.here(key=chat) is not None
        user.delete()
        assert session_files.here() == frozenset()


def one_token_session(chat: str) -> Session:
    book = Book((1,), (Span("head", 1),))
    return Session(key=chat, fingerprint="x", book=book, file="c.bin", size=1, digest="d")


SEQS = st.sets(st.integers(1, 6))
STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("place"), SEQS),
        st.tuples(st.just("mark"), st.sets(st.sampled_from([1, 3, 5]))),
        st.tuples(st.just("back"), st.sets(st.sampled_from([1, 3, 5]))),
    ),
    max_size=8,
)


class TestAnyOrder(TestCase):
    @given(STEPS)
    @settings(max_examples=25, deadline=None)
    def test_the_books_add_up_after_every_step(self, steps: list[tuple[str, set[int]]]) -> None:
        texts = [
            DomainMessage.user("And?", id=new_id()),
            DomainMessage.assistant("Yes.", id=new_id()),
        ] * 3
        texts = [replace(one, id=new_id()) for one in texts]
        view = import_conversation.here(owner=ADA, agent="demo", title="Chat", messages=texts)
        chat, live, found = view.id, set[int](), books_of(view.id)
        ids = {seq: one.id for seq, one in enumerate(texts, start=1)}
        for action, some in steps:
            before = found
            if action == "place":
                live = some
                places = {
                    ids[seq]: (10 + sum(s + 1 for s in some if s < seq), seq + 1) for seq in some
                }
                changed = place_books.here(conversation=chat, places=places)
            elif action == "mark":
                changed = mark_turns.here(conversation=chat, turns=sorted(some))
            else:
                changed = bring_back_turns.here(owner=ADA, conversation=chat, turns=sorted(some))
            found = books_of(chat)
            assert changed == {
                ids[seq]: found[seq][2] for seq in found if found[seq][2] != before[seq][2]
            }
            start = 10
            for seq in sorted(live):
                assert found[seq][:2] == (start, seq + 1)
                assert found[seq][2] in (0, 1), "what lies there is loaded or marked"
                start += seq + 1
            for seq in set(found) - live:
                assert found[seq] == ABSENT or found[seq][::2] == (-1, -1)


def test_a_key_that_is_no_message_id_places_nothing(db: None) -> None:
    assert place_books.here(conversation=str(uuid.uuid4()), places={"head:1": (0, 1)}) == {}
    assert not Message.objects.exists()
