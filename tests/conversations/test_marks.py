"""Marks on messages can be taken back, keep the totals true, and need the messages' owner."""

from __future__ import annotations

import random
from typing import Any

import pytest

from chatsite.conversations.lifecycle import (
    clear_conversation,
    delete_conversation,
    undelete_conversation,
)
from chatsite.conversations.models import Conversation, Message
from chatsite.conversations.path import loading, marks, queries
from chatsite.conversations.path.marks import MarkChange
from chatsite.conversations.records import NewTurn
from chatsite.conversations.turn.begin import begin_turn
from chatsite.errors import ChatsiteError, NotFound, Refused
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
    run_in_threads,
    talk,
)

MARKS = (marks.pin_message, marks.exclude_message, marks.forget_above_message)
Mark = Unit[..., MarkChange]


def at(chat: str, seq: int) -> str:
    return str(messages(chat).get(seq=seq).id)


def state(chat: str) -> tuple[list[tuple[int, bool, bool]], int, int]:
    """Every marked message, their stored total, and the place of the forget marker."""
    found = messages(chat).order_by("seq").values_list("seq", "pinned", "excluded")
    return [one for one in found if one[1] or one[2]], row(chat).marked, row(chat).forget_above


@pytest.fixture
def chat(db: None) -> str:
    """A greeting (1) and four turns: question 2, answer 3, up to answer 9."""
    conversation = new_id()
    end(
        begin(
            conversation, "question 1", greeting=[DomainMessage.assistant("Hello!", id=new_id())]
        ),
        "answer 1",
    )
    for number in (2, 3, 4):
        end(begin(conversation, f"question {number}"), f"answer {number}")
    return conversation


class TestPinningAndLeavingOut:
    @pytest.mark.parametrize("mark", [marks.pin_message, marks.exclude_message])
    def test_a_mark_can_be_taken_back(self, chat: str, mark: Mark) -> None:
        change = mark.here(owner=ADA, message=at(chat, 4), on=True)
        assert change.conversation == chat
        assert change.marked.message == at(chat, 4)
        assert (change.marked.pinned, change.marked.excluded) == (
            mark is marks.pin_message,
            mark is marks.exclude_message,
        )
        assert row(chat).marked == 1
        mark.here(owner=ADA, message=at(chat, 4), on=False)
        assert state(chat) == ([], 0, 0)

    def test_of_two_marks_on_one_message_the_later_one_counts(self, chat: str) -> None:
        marks.pin_message.here(owner=ADA, message=at(chat, 4), on=True)
        marks.exclude_message.here(owner=ADA, message=at(chat, 4), on=True)
        assert state(chat) == ([(4, False, True)], 1, 0)
        marks.pin_message.here(owner=ADA, message=at(chat, 4), on=False)
        assert state(chat) == ([(4, False, True)], 1, 0)
        marks.pin_message.here(owner=ADA, message=at(chat, 4), on=True)
        assert state(chat) == ([(4, True, False)], 1, 0)

    def test_a_policy_loads_a_marked_turn_far_beyond_its_reach(self, chat: str) -> None:
        marks.pin_message.here(owner=ADA, message=at(chat, 3), on=True)
        loaded = loading.load_path.here(owner=ADA, conversation=chat, reach=Users(1))
        assert [e.seq for e in loaded.transcript.entries if e.pinned] == [3]
        assert [e.seq for e in loaded.transcript.entries][-4:] == [2, 3, 8, 9]

    def test_the_page_gets_the_marks_of_messages(self, chat: str) -> None:
        marks.pin_message.here(owner=ADA, message=at(chat, 4), on=True)
        marks.exclude_message.here(owner=ADA, message=at(chat, 7), on=True)
        shown = queries.open_conversation.here(owner=ADA, conversation=chat).messages
        assert [view.seq for view in shown if view.pinned] == [4]
        assert [view.seq for view in shown if view.excluded] == [7]

    def test_clearing_the_path_clears_its_marks(self, chat: str) -> None:
        marks.pin_message.here(owner=ADA, message=at(chat, 4), on=True)
        marks.forget_above_message.here(owner=ADA, message=at(chat, 6), on=True)
        clear_conversation.here(owner=ADA, conversation=chat)
        assert (row(chat).marked, row(chat).forget_above) == (0, 0)

    @pytest.mark.parametrize("seed", range(6))
    def test_the_stored_total_equals_a_count_of_the_marks(self, chat: str, seed: int) -> None:
        choose = random.Random(seed)
        for _ in range(20):
            mark, seq = (
                choose.choice([marks.pin_message, marks.exclude_message]),
                choose.randint(2, 9),
            )
            mark.here(owner=ADA, message=at(chat, seq), on=choose.random() < 0.6)
            found, total, _ = state(chat)
            assert total == len(found)
            assert not any(pinned and excluded for _, pinned, excluded in found)


class TestForgettingWhatIsAbove:
    def test_the_forget_marker_is_set_moved_and_removed(self, chat: str) -> None:
        change = marks.forget_above_message.here(owner=ADA, message=at(chat, 4), on=True)
        assert change.marked.forget_above == row(chat).forget_above == 4
        marks.forget_above_message.here(owner=ADA, message=at(chat, 8), on=True)
        assert row(chat).forget_above == 8
        assert queries.open_conversation.here(owner=ADA, conversation=chat).forget_above == 8
        loaded = loading.load_path.here(owner=ADA, conversation=chat, reach=Everything())
        assert [e.seq for e in loaded.transcript.entries if e.forgets_above] == [8]
        marks.forget_above_message.here(owner=ADA, message=at(chat, 8), on=False)
        assert state(chat) == ([], 0, 0)

    def test_a_marker_set_at_an_answer_is_placed_above_its_question(self, chat: str) -> None:
        marks.forget_above_message.here(owner=ADA, message=at(chat, 5), on=True)
        assert row(chat).forget_above == 4
        marks.forget_above_message.here(owner=ADA, message=at(chat, 5), on=False)
        assert row(chat).forget_above == 0

    def test_the_marker_is_removed_only_from_the_message_that_has_it(self, chat: str) -> None:
        marks.forget_above_message.here(owner=ADA, message=at(chat, 8), on=True)
        change = marks.forget_above_message.here(owner=ADA, message=at(chat, 4), on=False)
        assert change.marked.forget_above == row(chat).forget_above == 8

    def test_the_marker_is_not_counted_as_a_mark_of_the_message(self, chat: str) -> None:
        marks.forget_above_message.here(owner=ADA, message=at(chat, 4), on=True)
        assert state(chat) == ([], 0, 4)


class TestRefusals:
    @pytest.mark.parametrize("mark", MARKS)
    def test_another_persons_message_is_not_found(self, chat: str, mark: Mark) -> None:
        told = []
        for owner, id in ((BOB, at(chat, 4)), (ADA, new_id())):
            with pytest.raises(NotFound) as missing:
                mark.here(owner=owner, message=id, on=True)
            told.append(missing.value.message)
        assert told[0] == told[1]
        assert state(chat) == ([], 0, 0)

    @pytest.mark.parametrize("mark", MARKS)
    def test_messages_off_the_path_or_deleted_are_not_found(self, chat: str, mark: Mark) -> None:
        id = at(chat, 4)
        delete_conversation.here(owner=ADA, conversation=chat)
        with pytest.raises(NotFound):
            mark.here(owner=ADA, message=id, on=True)
        undelete_conversation.here(owner=ADA, conversation=chat)
        clear_conversation.here(owner=ADA, conversation=chat)
        with pytest.raises(NotFound):
            mark.here(owner=ADA, message=id, on=True)
        assert state(chat) == ([], 0, 0)

    @pytest.mark.parametrize("mark", MARKS)
    def test_a_mark_on_a_greeting_is_refused_because_it_would_do_nothing(
        self, chat: str, mark: Mark
    ) -> None:
        with pytest.raises(Refused, match="never sent"):
            mark.here(owner=ADA, message=at(chat, 1), on=True)

    def test_while_an_answer_is_written_every_other_message_can_be_marked(self, chat: str) -> None:
        begun = begin(chat, "question 5")
        with pytest.raises(Refused, match="still being written"):
            marks.pin_message.here(owner=ADA, message=begun.answer, on=True)
        marks.exclude_message.here(owner=ADA, message=begun.messages[0].message.id, on=True)
        marks.pin_message.here(owner=ADA, message=at(chat, 4), on=True)
        marks.forget_above_message.here(owner=ADA, message=at(chat, 4), on=True)
        end(begun)
        assert state(chat) == ([(4, True, False), (10, False, True)], 2, 4)


@pytest.mark.django_db(transaction=True)
def test_marks_set_at_the_same_time_are_all_counted() -> None:
    pinned = new_id()
    talk(pinned, 4)
    ids = iter([str(id) for id in messages(pinned).values_list("id", flat=True)])
    found = run_in_threads(8, lambda: marks.pin_message.here(owner=ADA, message=next(ids), on=True))
    assert all(isinstance(one, MarkChange) for one in found), found
    assert row(pinned).marked == 8


class TestReplying:
    """A reply's target is stored with the message and shown with it."""

    def reply(self, chat: str, to: str, **more: Any) -> Any:
        fields = DomainMessage.user("About that", id=new_id(), reply_to=to)
        new = NewTurn(
            owner=ADA,
            conversation=chat,
            agent="demo",
            client_id=new_id(),
            answer=new_id(),
            reach=Everything(),
            **more,
        )
        return begin_turn.here(new, user=fields, greeting=())

    def test_a_reply_quotes_the_beginning_of_the_message_it_replies_to(self, chat: str) -> None:
        Message.objects.filter(id=at(chat, 3)).update(content="One  two\nthree " + "word " * 90)
        begun = self.reply(chat, at(chat, 3))
        quote = begun.messages[0].reply
        assert quote is not None
        assert (quote.id, quote.seq, quote.role) == (at(chat, 3), 3, "assistant")
        assert quote.text.startswith("One two three word") and quote.text.endswith("word…")
        assert len(quote.text) <= 200
        end(begun)
        shown = queries.open_conversation.here(owner=ADA, conversation=chat).messages
        assert [view.reply for view in shown if view.reply] == [quote]
        loaded = loading.load_path.here(owner=ADA, conversation=chat, reach=Users(1))
        assert loaded.transcript.entries[-2].message.reply_to == at(chat, 3)

    def test_a_resent_message_is_shown_with_its_reply_too(self, chat: str) -> None:
        begun = self.reply(chat, at(chat, 3))
        turn = messages(chat).get(id=begun.messages[0].message.id).turn
        assert turn is not None
        again = begin(chat, "About that", client_id=turn.client_id)
        assert again.resent and again.messages == begun.messages

    def test_a_reply_to_a_message_off_the_path_is_refused_and_nothing_is_stored(
        self, chat: str
    ) -> None:
        other, theirs = new_id(), new_id()
        talk(other, 1)
        end(begin(theirs, owner=BOB))
        running = begin(other, "More")
        for id in (new_id(), at(other, 1), at(theirs, 1), running.answer):
            with pytest.raises(ChatsiteError) as refused:
                self.reply(chat, id)
            assert refused.value.code == "reply_gone"
            assert "Your text is kept" in refused.value.message
        assert messages(chat).count() == 9
        with pytest.raises(Refused):
            self.reply(new_id(), at(chat, 3))
        assert Conversation.objects.count() == 3
