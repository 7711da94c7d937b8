"""How far back storage is read: by tokens, to a turn replied to, before background messages."""

from __future__ import annotations

import pytest
from django.utils import timezone
from pytest_django import DjangoAssertNumQueries

from chatsite.conversations.models import Conversation
from chatsite.conversations.path import active_path, loading
from chatsite.history import Tokens, Users
from chatsite.messages import Message as DomainMessage
from chatsite.messages import Source
from tests.conversations.builders import ADA, messages, new_id, token_count, user_message

pytestmark = pytest.mark.django_db


def chat_of(turns: int, *, tokens: int = 10) -> str:
    """A conversation of `turns` questions and answers; each message has `tokens` tokens."""
    chat = new_id()
    now = timezone.now()
    row = Conversation.objects.create(
        id=chat, guest="ada", agent="demo", title="Chat", created=now, updated=now
    )
    for turn in range(1, turns + 1):
        question = user_message(f"question {turn}", tokens=tokens)
        reply = DomainMessage(
            id=new_id(), role="assistant", content=f"answer {turn}", tokens=token_count(tokens)
        )
        active_path.append_to_path(row, [question, reply], now=now)
    row.save()
    return chat


def add(chat: str, source: Source, *, role: str = "assistant") -> None:
    row = Conversation.objects.get(id=chat)
    message = DomainMessage(
        id=new_id(),
        role="user" if role == "user" else "assistant",
        content="Briefing",
        source=source,
        tokens=token_count(10),
    )
    active_path.append_to_path(row, [message], now=timezone.now())
    row.save()


def seqs(
    chat: str, reach: Users | Tokens, *, ahead: int = 0, reply_to: str | None = None
) -> list[int]:
    loaded = loading.load_path.here(
        owner=ADA, conversation=chat, reach=reach, ahead=ahead, reply_to=reply_to
    )
    return [entry.seq for entry in loaded.transcript.entries]


class TestByTokens:
    def test_whole_turns_are_read_until_they_exceed_the_budget(
        self, django_assert_max_num_queries: DjangoAssertNumQueries
    ) -> None:
        chat = chat_of(50)
        with django_assert_max_num_queries(3):
            loaded = loading.load_path.here(owner=ADA, conversation=chat, reach=Tokens(100))
        assert [entry.seq for entry in loaded.transcript.entries] == list(range(89, 101))
        away = loaded.transcript.not_loaded
        assert (away.messages, away.users, away.tokens) == (88, 44, 880)
        assert (away.first, away.last) == (1, 88)

    def test_a_conversation_within_the_budget_is_read_whole(self) -> None:
        assert seqs(chat_of(5), Tokens(100)) == list(range(1, 11))

    def test_messages_that_a_mark_may_leave_out_are_read_but_not_counted(self) -> None:
        chat = chat_of(50)
        messages(chat).filter(seq=97).update(excluded=True)
        Conversation.objects.filter(id=chat).update(marked=1)
        assert seqs(chat, Tokens(100)) == list(range(87, 101))

    @pytest.mark.parametrize("status", [0, -1])
    def test_unloaded_messages_take_no_tokens_and_are_read_as_unloaded(self, status: int) -> None:
        chat = chat_of(50)
        messages(chat).filter(turn_seq__in=[95, 97]).update(kv_status=status)
        loaded = loading.load_path.here(owner=ADA, conversation=chat, reach=Tokens(100))
        statuses = {entry.seq: entry.message.kv_status for entry in loaded.transcript.entries}
        assert list(statuses) == list(range(85, 101))
        assert {seq for seq, now in statuses.items() if now == status} == {95, 96, 97, 98}

    def test_a_turn_that_is_too_long_by_itself_is_read(self) -> None:
        assert seqs(chat_of(3, tokens=500), Tokens(100)) == [5, 6]


class TestReplies:
    def test_the_turn_that_is_replied_to_is_read_however_old_it_is(
        self, django_assert_max_num_queries: DjangoAssertNumQueries
    ) -> None:
        chat = chat_of(50)
        answer = str(messages(chat).get(seq=10).id)
        with django_assert_max_num_queries(5):
            found = seqs(chat, Users(2), ahead=1, reply_to=answer)
        assert found == [9, 10, 99, 100]

    def test_a_reply_to_an_id_that_is_not_on_the_path_loads_nothing_more(self) -> None:
        mine, other = chat_of(5), chat_of(5)
        foreign = str(messages(other).get(seq=1).id)
        assert seqs(mine, Users(1), reply_to=foreign) == [9, 10]


class TestBackground:
    def test_background_messages_right_before_a_lone_message_are_read_with_their_turn(self) -> None:
        chat = chat_of(5)
        add(chat, "briefing")
        assert seqs(chat, Users(1), ahead=1) == [9, 10, 11]

    def test_before_background_turns_the_last_turn_of_a_person_is_read_too(self) -> None:
        chat = chat_of(5)
        add(chat, "scheduled", role="user")
        add(chat, "scheduled")
        assert seqs(chat, Users(1), ahead=1) == [9, 10, 11, 12]

    def test_background_user_messages_are_counted_apart_among_unread_messages(self) -> None:
        chat = chat_of(2)
        add(chat, "scheduled", role="user")
        row = Conversation.objects.get(id=chat)
        more = [user_message("question", tokens=1) for _ in range(4)]
        active_path.append_to_path(row, more, now=timezone.now())
        row.save()
        away = loading.load_path.here(
            owner=ADA, conversation=chat, reach=Users(2)
        ).transcript.not_loaded
        assert (away.users, away.background) == (5, 1)


class TestTurnsOfHits:
    def test_whole_turns_are_read_once_and_in_order(self) -> None:
        chat = chat_of(20)
        found = loading.load_turns.here(owner=ADA, conversation=chat, seqs=[12, 4, 11])
        assert [entry.seq for entry in found] == [3, 4, 11, 12]

    @pytest.mark.slow
    def test_many_hits_are_read_in_parts(self) -> None:
        chat = chat_of(700)
        found = loading.load_turns.here(owner=ADA, conversation=chat, seqs=range(1, 1_401, 2))
        assert len(found) == 1_400

    def test_messages_off_the_path_are_not_read(self) -> None:
        chat = chat_of(3)
        messages(chat).filter(seq__in=[3, 4]).update(on_path=False)
        assert loading.load_turns.here(owner=ADA, conversation=chat, seqs=[3, 5]) == tuple(
            loading.load_turns.here(owner=ADA, conversation=chat, seqs=[5])
        )
