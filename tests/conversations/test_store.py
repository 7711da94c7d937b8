from __future__ import annotations

import random

import pytest
from django.contrib.auth.models import User

from chatsite.conversations.lifecycle import (
    clear_conversation,
    delete_conversation,
    move_to_account,
    rename_conversation,
    save_counts,
    undelete_conversation,
)
from chatsite.conversations.models import Conversation, Message, Turn
from chatsite.conversations.owners import Owner
from chatsite.conversations.path import queries
from chatsite.conversations.records import Checkpoint, FinishedTurn, StartedTurn
from chatsite.conversations.titles import title_from
from chatsite.conversations.turn.end import end_interrupted
from chatsite.conversations.turn.rounds import save_checkpoints
from chatsite.errors import BadCommand, NotFound, TurnRunning
from chatsite.messages import Message as DomainMessage
from tests.conversations.builders import (
    ADA,
    BOB,
    begin,
    counted_totals,
    end,
    messages,
    new_id,
    row,
    run_in_threads,
    stored_totals,
    talk,
    token_count,
    user_message,
)


@pytest.mark.django_db(transaction=True)
class TestAtOnce:
    def test_ten_resends_begin_one_turn(self) -> None:
        chat, client_id = new_id(), new_id()
        found = run_in_threads(10, lambda: begin(chat, client_id=client_id))
        begun = [one for one in found if isinstance(one, StartedTurn)]
        assert len(begun) == 10, found
        assert len({one.turn for one in begun}) == 1
        assert [one.resent for one in begun].count(False) == 1
        assert Turn.objects.count() == 1
        assert Message.objects.filter(role="user").count() == 1

    def test_of_ten_messages_one_begins_and_nine_are_refused(self) -> None:
        chat = new_id()
        found = run_in_threads(10, lambda: begin(chat))
        assert sum(isinstance(one, StartedTurn) for one in found) == 1
        assert sum(isinstance(one, TurnRunning) for one in found) == 9
        assert Message.objects.filter(role="user").count() == 1

    def test_a_conversation_begun_by_ten_owners_belongs_to_one_of_them(self) -> None:
        chat = new_id()
        owners = iter([Owner(guest=f"guest {n}") for n in range(10)])
        found = run_in_threads(10, lambda: begin(chat, owner=next(owners)))
        assert sum(isinstance(one, StartedTurn) for one in found) == 1
        assert sum(isinstance(one, NotFound) for one in found) == 9

    def test_a_turn_ends_once(self) -> None:
        chat = new_id()
        begun = begin(chat)
        found = run_in_threads(8, lambda: end(begun))
        assert sum(isinstance(one, FinishedTurn) for one in found) == 1
        assert found.count(None) == 7
        assert stored_totals(chat) == counted_totals(chat) == (2, 1, 8)


@pytest.mark.django_db
class TestBeginning:
    def test_the_greeting_is_stored_before_the_first_turn_only(self) -> None:
        chat = new_id()
        hello = DomainMessage.assistant("Hello!", id=new_id())
        begun = begin(chat, greeting=[hello])
        assert [view.message.content for view in begun.messages] == ["Hello!", "Hello there"]
        end(begun)
        second = begin(chat, "More", greeting=[DomainMessage.assistant("Hello!", id=new_id())])
        assert [view.message.content for view in second.messages] == ["More"]
        assert second.number == 2

    def test_a_resend_returns_the_stored_message(self) -> None:
        chat = new_id()
        first = begin(chat, "Once", client_id="c1")
        end(first)
        again = begin(chat, "Twice", client_id="c1")
        assert again.resent
        assert [view.message.content for view in again.messages] == ["Once"]
        assert stored_totals(chat) == counted_totals(chat)

    def test_the_id_of_another_owners_conversation_gives_no_access(self) -> None:
        chat = new_id()
        end(begin(chat))
        with pytest.raises(NotFound):
            begin(chat, owner=BOB)
        assert row(chat).guest == "ada"
        assert Message.objects.count() == 2

    def test_another_agent_can_not_answer_in_a_conversation(self) -> None:
        chat = new_id()
        end(begin(chat))
        with pytest.raises(BadCommand, match="another agent"):
            begin(chat, agent="archivist")
        assert Turn.objects.count() == 1

    def test_a_deleted_conversation_takes_no_message(self) -> None:
        chat = new_id()
        end(begin(chat))
        delete_conversation.here(owner=ADA, conversation=chat)
        with pytest.raises(NotFound):
            begin(chat)

    @pytest.mark.parametrize(
        ("text", "title"),
        [
            ("What is  a\nreceipt?", "What is a receipt?"),
            ("x" * 80, "x" * 60 + "…"),
            ("word " * 30, "word " * 11 + "word…"),
            (" \n ", "New chat"),
        ],
    )
    def test_the_title_is_the_beginning_of_the_first_message(self, text: str, title: str) -> None:
        assert title_from(text) == title


@pytest.mark.django_db
class TestEnding:
    @pytest.mark.parametrize("text", ["", None])
    def test_a_failed_answer_without_text_leaves_no_message(self, text: str | None) -> None:
        chat = new_id()
        begun = begin(chat)
        ended = end(begun, text, state="failed")
        assert ended is not None and ended.message is None
        assert [m.role for m in Message.objects.all()] == ["user"]
        assert stored_totals(chat) == counted_totals(chat) == (1, 1, 3)
        assert not begin(chat, "Again").resent

    def test_a_failed_answer_with_text_keeps_it(self) -> None:
        chat = new_id()
        ended = end(begin(chat), "Half an ans", state="interrupted")
        assert ended is not None and ended.message is not None
        assert ended.message.message.content == "Half an ans"
        assert ended.message.state == "interrupted"

    def test_a_checkpoint_after_the_end_changes_nothing(self) -> None:
        chat = new_id()
        begun = begin(chat)
        save_checkpoints.here([Checkpoint(turn=begun.turn, answer=begun.answer, text="An")])
        end(begun, "An answer.")
        save_checkpoints.here([Checkpoint(turn=begun.turn, answer=begun.answer, text="An ans")])
        assert Message.objects.get(role="assistant").content == "An answer."

    def test_an_answer_of_a_killed_process_is_marked_and_keeps_its_last_checkpoint(self) -> None:
        written, silent, whole = new_id(), new_id(), new_id()
        begun = begin(written)
        save_checkpoints.here([Checkpoint(turn=begun.turn, answer=begun.answer, text="Up to here")])
        begin(silent)
        end(begin(whole))
        assert len(end_interrupted.here()) == 2
        assert end_interrupted.here() == []
        assert not Turn.objects.filter(state="running").exists()
        kept = messages(written).get(role="assistant")
        assert (kept.content, kept.state) == ("Up to here", "interrupted")
        for chat in (written, silent, whole):
            assert stored_totals(chat) == counted_totals(chat)
        assert not begin(silent, "Again").resent

    def test_the_interrupted_turn_of_one_conversation_can_be_ended_alone(self) -> None:
        one, other = new_id(), new_id()
        begin(one)
        begin(other)
        assert end_interrupted.here(conversation=one) == [one]
        with pytest.raises(TurnRunning):
            begin(other, "More")


@pytest.mark.django_db
class TestChanging:
    def test_clear_begins_an_empty_path_and_loses_nothing(self) -> None:
        chat = new_id()
        talk(chat, 3)
        clear_conversation.here(owner=ADA, conversation=chat)
        assert stored_totals(chat) == counted_totals(chat) == (0, 0, 0)
        assert queries.open_conversation.here(owner=ADA, conversation=chat).messages == ()
        assert messages(chat).count() == 6
        end(begin(chat, "Anew"))
        opened = queries.open_conversation.here(owner=ADA, conversation=chat)
        assert [view.message.content for view in opened.messages] == ["Anew", "An answer."]
        assert opened.messages[0].seq == 7

    def test_clear_is_refused_while_an_answer_is_written(self) -> None:
        chat = new_id()
        begin(chat)
        with pytest.raises(TurnRunning):
            clear_conversation.here(owner=ADA, conversation=chat)
        assert stored_totals(chat) == (1, 1, 3)

    def test_delete_can_be_undone(self) -> None:
        chat = new_id()
        talk(chat, 2)
        before = queries.open_conversation.here(owner=ADA, conversation=chat)
        delete_conversation.here(owner=ADA, conversation=chat)
        assert queries.list_conversations.here(owner=ADA) == ([], False)
        with pytest.raises(NotFound):
            queries.open_conversation.here(owner=ADA, conversation=chat)
        undelete_conversation.here(owner=ADA, conversation=chat)
        assert queries.open_conversation.here(owner=ADA, conversation=chat) == before

    def test_new_token_counts_keep_the_total_true(self) -> None:
        chat = new_id()
        talk(chat, 3)
        ids = [str(id) for id in Message.objects.values_list("id", flat=True)[:4]]
        save_counts.here(conversation=chat, counts={id: token_count(100) for id in ids})
        assert stored_totals(chat) == counted_totals(chat)
        assert stored_totals(chat)[2] >= 400
        clear_conversation.here(owner=ADA, conversation=chat)
        save_counts.here(conversation=chat, counts={id: token_count(7) for id in ids})
        assert stored_totals(chat) == counted_totals(chat) == (0, 0, 0)

    @pytest.mark.parametrize("seed", range(12))
    def test_totals_equal_a_recount_after_random_steps(self, seed: int) -> None:
        chat, choose = new_id(), random.Random(seed)
        running: list[StartedTurn] = []
        talk(chat, 1)
        for _ in range(25):
            match choose.choice(["begin", "end", "fail", "clear", "count", "left", "delete"]):
                case "begin" if not running:
                    running = [begin(chat, "word " * choose.randint(1, 9))]
                case "end" if running:
                    end(running.pop(), tokens=choose.randint(0, 50))
                case "fail" if running:
                    end(running.pop(), choose.choice(["", None, "Half"]), state="failed")
                case "clear" if not running:
                    clear_conversation.here(owner=ADA, conversation=chat)
                case "count":
                    some = messages(chat).exclude(state="running")
                    save_counts.here(
                        conversation=chat,
                        counts={str(m.id): token_count(choose.randint(1, 99)) for m in some[:5]},
                    )
                case "left":
                    running = []
                    end_interrupted.here()
                case "delete":
                    delete_conversation.here(owner=ADA, conversation=chat)
                    undelete_conversation.here(owner=ADA, conversation=chat)
            assert stored_totals(chat) == counted_totals(chat)
        seqs = list(messages(chat).values_list("seq", flat=True))
        assert len(set(seqs)) == len(seqs)


@pytest.mark.django_db
class TestMovingToAnAccount:
    def test_only_the_conversations_of_this_guest_move(self) -> None:
        user = User.objects.create_user("ada")
        chat, other = new_id(), new_id()
        talk(chat, 1)
        talk(other, 1, owner=BOB)
        assert move_to_account.here(guest="ada", user=user.pk) == 1
        assert move_to_account.here(guest="ada", user=user.pk) == 0
        assert [c.id for c in queries.list_conversations.here(owner=Owner(user=user.pk))[0]] == [
            chat
        ]
        assert queries.list_conversations.here(owner=ADA) == ([], False)
        assert [c.id for c in queries.list_conversations.here(owner=BOB)[0]] == [other]

    def test_an_owner_is_an_account_or_a_guest(self) -> None:
        for wrong in ({}, {"user": 1, "guest": "ada"}):
            with pytest.raises(ValueError):
                Owner(**wrong)  # type: ignore[arg-type]


@pytest.mark.django_db
def test_the_admin_names_a_conversation_without_its_words() -> None:
    chat = new_id()
    begin(chat, "My secret plan")
    assert "secret" not in str(Conversation.objects.get(id=chat))


@pytest.mark.django_db
def test_the_title_is_cut_where_the_column_ends() -> None:
    chat = new_id()
    end(begin(chat))
    assert len(rename_conversation.here(owner=ADA, conversation=chat, title="x" * 500).title) == 200
    assert user_message("x").content == "x"
