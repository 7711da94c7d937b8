from __future__ import annotations

from typing import Any

import pytest
from django.utils import timezone
from pytest_django import DjangoAssertNumQueries

from chatsite.conversations import ownership
from chatsite.conversations.lifecycle import (
    clear_conversation,
    delete_conversation,
    rename_conversation,
    undelete_conversation,
)
from chatsite.conversations.models import Conversation, Message
from chatsite.conversations.owners import Owner
from chatsite.conversations.path import active_path, loading, queries
from chatsite.conversations.path.queries import open_conversation
from chatsite.conversations.turn import receipts
from chatsite.conversations.turn.end import end_turn
from chatsite.errors import NotFound
from chatsite.history import Everything, Users
from chatsite.messages import Message as DomainMessage
from chatsite.storage import Unit
from tests.conversations.builders import (
    ADA,
    BOB,
    begin,
    end,
    messages,
    new_id,
    row,
    talk,
    token_count,
    user_message,
)

pytestmark = pytest.mark.django_db


def long_chat(messages: int) -> str:
    """A conversation of alternating questions and answers, inserted in bulk."""
    chat = new_id()
    now = timezone.now()
    found = Conversation.objects.create(
        id=chat, guest="ada", agent="demo", title="Long", created=now, updated=now
    )
    active_path.append_to_path(
        found,
        [
            user_message(f"question {n}", tokens=2)
            if n % 2
            else DomainMessage(
                id=new_id(), role="assistant", content=f"answer {n}", tokens=token_count(4)
            )
            for n in range(1, messages + 1)
        ],
        now=now,
    )
    found.save()
    return chat


class TestLoading:
    @pytest.mark.slow
    def test_three_queries_load_the_reach_of_a_policy_from_thousands_of_messages(
        self, django_assert_max_num_queries: DjangoAssertNumQueries
    ) -> None:
        chat = long_chat(3000)
        with django_assert_max_num_queries(3):
            loaded = loading.load_path.here(owner=ADA, conversation=chat, reach=Users(5))
        seqs = [entry.seq for entry in loaded.transcript.entries]
        assert seqs == list(range(2991, 3001))
        left = loaded.transcript.not_loaded
        assert (left.messages, left.users, left.tokens) == (2990, 1495, 1495 * 6)
        assert (left.first, left.last) == (1, 2990)
        assert (loaded.next_seq, loaded.agent) == (3001, "demo")

    @pytest.mark.sqlite
    def test_a_turn_of_the_path_is_found_without_reading_the_whole_path(self) -> None:
        chat = new_id()
        talk(chat, 1)
        plan = ownership.messages_on_path(row(chat)).filter(turn_seq__in=[1]).explain()
        assert "message_turn (conversation_id=? AND on_path=? AND turn_seq=?)" in plan

    def test_a_draft_counts_as_one_of_the_messages_to_load(self) -> None:
        chat = new_id()
        talk(chat, 4)
        loaded = loading.load_path.here(owner=ADA, conversation=chat, reach=Users(2), ahead=1)
        assert [e.message.content for e in loaded.transcript.entries] == ["question 4", "answer 4"]
        alone = loading.load_path.here(owner=ADA, conversation=chat, reach=Users(1), ahead=1)
        assert alone.transcript.entries == ()
        assert alone.transcript.not_loaded.messages == 8

    def test_marked_turns_are_loaded_whole(
        self, django_assert_max_num_queries: DjangoAssertNumQueries
    ) -> None:
        chat = long_chat(400)
        messages(chat).filter(seq__in=[10, 21]).update(pinned=True)
        messages(chat).filter(seq=30).update(excluded=True)
        Conversation.objects.filter(id=chat).update(marked=3)
        with django_assert_max_num_queries(5):
            loaded = loading.load_path.here(owner=ADA, conversation=chat, reach=Users(1))
        seqs = [entry.seq for entry in loaded.transcript.entries]
        assert seqs == [9, 10, 21, 22, 29, 30, 399, 400]
        assert loaded.transcript.not_loaded.messages == 392

    def test_everything_is_loaded_for_a_policy_that_reaches_everything(self) -> None:
        chat = long_chat(50)
        loaded = loading.load_path.here(owner=ADA, conversation=chat, reach=Everything())
        assert len(loaded.transcript.entries) == 50
        assert loaded.transcript.not_loaded.messages == 0

    def test_the_answer_being_written_is_not_loaded(self) -> None:
        chat = new_id()
        talk(chat, 1)
        begin(chat, "Now")
        loaded = loading.load_path.here(owner=ADA, conversation=chat, reach=Users(9))
        assert [e.message.content for e in loaded.transcript.entries][-1] == "Now"
        assert len(loaded.transcript.entries) == 3

    def test_messages_off_the_path_are_not_loaded(self) -> None:
        chat = new_id()
        talk(chat, 3)
        clear_conversation.here(owner=ADA, conversation=chat)
        begin(chat, "Anew")
        loaded = loading.load_path.here(owner=ADA, conversation=chat, reach=Everything())
        assert [e.message.content for e in loaded.transcript.entries] == ["Anew"]

    def test_a_background_message_does_not_count_towards_the_reach(self) -> None:
        chat = new_id()
        talk(chat, 2)
        Message.objects.filter(content="question 2").update(source="scheduled")
        loaded = loading.load_path.here(owner=ADA, conversation=chat, reach=Users(1))
        assert [e.seq for e in loaded.transcript.entries] == [1, 2, 3, 4]

    def test_a_conversation_that_has_not_begun_is_empty(self) -> None:
        loaded = loading.load_path.here(owner=ADA, conversation=new_id(), reach=Users(3))
        assert (loaded.agent, loaded.next_seq) == ("", 1)
        assert loaded.transcript.entries == ()


class TestReading:
    def test_of_very_long_messages_a_page_has_fewer(self) -> None:
        chat = long_chat(10)
        Message.objects.filter(conversation__id=chat).update(content="x" * 400_000)
        page = open_conversation.here(owner=ADA, conversation=chat)
        assert len(page.messages) == 3 and page.earlier
        Message.objects.filter(conversation__id=chat).update(content="x" * 4_000_000)
        page = open_conversation.here(owner=ADA, conversation=chat)
        assert len(page.messages) == 1 and page.earlier
        found, earlier = queries.earlier_messages.here(owner=ADA, conversation=chat, before=10)
        assert ([one.seq for one in found], earlier) == ([9], True)
        assert queries.earlier_messages.here(owner=ADA, conversation=chat, before=2)[1] is False

    def test_earlier_messages_are_read_page_by_page(self) -> None:
        chat = long_chat(150)
        opened = queries.open_conversation.here(owner=ADA, conversation=chat)
        seen = [view.seq for view in opened.messages]
        earlier = opened.earlier
        assert seen == list(range(91, 151)) and earlier
        while earlier:
            found, earlier = queries.earlier_messages.here(
                owner=ADA, conversation=chat, before=seen[0]
            )
            seen = [view.seq for view in found] + seen
        assert seen == list(range(1, 151))
        assert queries.earlier_messages.here(owner=ADA, conversation=chat, before=1) == ((), False)

    def test_the_request_holds_the_messages_that_the_receipt_lists_as_sent(self) -> None:
        chat = new_id()
        talk(chat, 3)
        begun = begin(chat, "question 4")
        verdicts = [
            {"first": 0, "last": 0, "sent": True},
            {"first": 1, "last": 2, "sent": False},
            {"first": 3, "last": 7, "sent": True},
        ]
        end_turn.here(
            turn=begun.turn, state="complete", text="answer 4", receipt={"verdicts": verdicts}
        )
        kept = receipts.request_parts.here(owner=ADA, turn=begun.turn)
        assert kept.agent == "demo" and kept.receipt == {"verdicts": verdicts}
        assert [entry.message.content for entry in kept.entries] == [
            "question 2",
            "answer 2",
            "question 3",
            "answer 3",
            "question 4",
        ]

    def test_many_pieces_are_read_in_a_few_queries(
        self, django_assert_num_queries: DjangoAssertNumQueries
    ) -> None:
        """SQLite takes an expression of about a thousand terms."""
        chat = long_chat(1_400)
        begun = begin(chat, "the last")
        seqs = range(1, 1400, 2)
        layout = [{"first": seq, "last": seq} for seq in seqs]
        end_turn.here(turn=begun.turn, state="complete", text="x", receipt={"layout": layout})
        with django_assert_num_queries(10):
            kept = receipts.request_parts.here(owner=ADA, turn=begun.turn)
        assert [entry.seq for entry in kept.entries] == list(seqs)


def reads() -> list[Unit[..., Any]]:
    """Every read and write that names a conversation, as one call."""
    return [
        queries.agent_of,
        queries.earlier_messages,
        queries.whole_path,
        rename_conversation,
        delete_conversation,
        undelete_conversation,
        clear_conversation,
    ]


MORE: dict[str, dict[str, Any]] = {
    "earlier_messages": {"before": 5},
    "rename_conversation": {"title": "Mine"},
}


class TestAnotherOwner:
    @pytest.mark.parametrize("ask", reads(), ids=lambda ask: str(ask.__name__))
    def test_another_owner_gets_the_same_error_as_for_a_random_id(
        self, ask: Unit[..., Any]
    ) -> None:
        chat = new_id()
        talk(chat, 2)
        before = row(chat).__dict__.copy()
        told = []
        for id in (chat, new_id(), "no uuid"):
            with pytest.raises(NotFound) as error:
                ask.here(owner=BOB, conversation=id, **MORE.get(ask.__name__, {}))
            told.append((error.value.code, error.value.message))
        assert len(set(told)) == 1
        after = row(chat).__dict__
        assert {k: v for k, v in after.items() if k != "_state"} == {
            k: v for k, v in before.items() if k != "_state"
        }

    @pytest.mark.parametrize(
        "ask", [queries.receipt_of, receipts.request_parts, receipts.past_turn]
    )
    def test_another_owners_turn_is_not_found(self, ask: Unit[..., Any]) -> None:
        begun = begin(new_id())
        end(begun)
        told = []
        for id in (begun.turn, new_id(), "no uuid"):
            with pytest.raises(NotFound) as error:
                ask.here(owner=BOB, turn=id)
            told.append((error.value.code, error.value.message))
        assert len(set(told)) == 1

    def test_another_owner_can_neither_open_nor_load_the_conversation(self) -> None:
        chat = new_id()
        talk(chat, 1)
        with pytest.raises(NotFound):
            queries.open_conversation.here(owner=BOB, conversation=chat)
        with pytest.raises(NotFound):
            loading.load_path.here(owner=BOB, conversation=chat, reach=Everything())
        assert queries.open_conversation.here(owner=BOB, conversation=new_id()).conversation is None

    def test_an_account_does_not_see_conversations_of_a_guest(self) -> None:
        chat = new_id()
        talk(chat, 1)
        with pytest.raises(NotFound):
            queries.open_conversation.here(owner=Owner(user=1), conversation=chat)

    def test_the_turn_of_a_deleted_conversation_is_not_found(self) -> None:
        chat = new_id()
        begun = begin(chat)
        end(begun)
        delete_conversation.here(owner=ADA, conversation=chat)
        with pytest.raises(NotFound):
            queries.receipt_of.here(owner=ADA, turn=begun.turn)
