"""A user message is asked otherwise: a branch of the tree, beside the one that was there."""

from __future__ import annotations

import pytest

from chatsite.conversations.lifecycle import clear_conversation
from chatsite.conversations.models import Turn
from chatsite.conversations.path import loading, queries
from chatsite.conversations.path.added_messages import add_message
from chatsite.conversations.path.marks import forget_above_message
from chatsite.conversations.turn.end import end_interrupted
from chatsite.conversations.versions import versions as versions_module
from chatsite.conversations.versions.deletions import delete_message
from chatsite.conversations.versions.versions import finish_branches, show_version
from chatsite.errors import NotFound, Refused, TurnRunning
from chatsite.history import Users
from chatsite.storage import next_piece
from tests.conversations.builders import (
    ADA,
    BOB,
    begin,
    counted_totals,
    edit,
    end,
    messages,
    new_id,
    retry,
    row,
    shown_messages,
    stored_totals,
    talk,
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


def versions(chat: str, place: int) -> list[str]:
    opened = queries.open_conversation.here(owner=ADA, conversation=chat)
    return [one.id for one in opened.messages[place].versions]


@pytest.mark.parametrize("seq", [1, 3, 5])
def test_any_message_of_the_path_can_be_asked_otherwise(chat: str, seq: int) -> None:
    before, former = shown_messages(chat), message_id(chat, seq)
    begun = edit(chat, former, "Or rather?")
    assert begun.gone_from == seq and stored_totals(chat) == counted_totals(chat)
    (asked,) = begun.messages
    assert [one.id for one in asked.versions] == [former, asked.message.id]
    end(begun, "Rather so.")
    assert shown_messages(chat) == [
        *before[: seq - 1],
        ("user", "Or rather?"),
        ("assistant", "Rather so."),
    ]
    assert versions(chat, seq - 1) == [former, asked.message.id]


def test_the_former_branch_comes_back_with_all_that_was_below_it(chat: str) -> None:
    before, first = shown_messages(chat), message_id(chat, 1)
    begun = edit(chat, first, "Or rather?")
    end(begun)
    end(begin(chat, "Go on"), "Gone on.")
    newer = shown_messages(chat)
    changed = show_version.here(owner=ADA, message=first)
    assert changed.below == 0 and shown_messages(chat) == before
    assert row(chat).last_turn_id == messages(chat).get(seq=6).turn_id
    show_version.here(owner=ADA, message=begun.asked)
    assert shown_messages(chat) == newer
    assert stored_totals(chat) == counted_totals(chat)


def test_a_decision_reads_the_branch_that_is_shown_and_nothing_else(chat: str) -> None:
    former = message_id(chat, 3)
    begun = edit(chat, former, "Or rather?")
    assert begun.loaded is not None
    read = [entry.message.content for entry in begun.loaded.transcript.entries]
    assert read == ["question 1", "answer 1", "Or rather?"]
    end(begun)
    show_version.here(owner=ADA, message=former)
    loaded = loading.load_path.here(owner=ADA, conversation=chat, reach=Users(3), ahead=1)
    assert [entry.seq for entry in loaded.transcript.entries] == [3, 4, 5, 6]


def test_a_resent_change_finds_its_turn_and_makes_no_second_branch(chat: str) -> None:
    begun = edit(chat, message_id(chat, 3), "Or rather?", client_id="c")
    for _ in range(2):
        again = edit(chat, message_id(chat, 3), "Or rather?", client_id="c")
        assert (again.resent, again.turn, again.asked) == (True, begun.turn, begun.asked)
        end(begun)
    assert Turn.objects.count() == 4


def test_what_cannot_be_asked_otherwise_is_refused_and_changes_nothing(chat: str) -> None:
    before = shown_messages(chat)
    task = add_message.here(conversation=chat, source="briefing", text="Rain.", role="user")
    for message, error in (
        (message_id(chat, 2), Refused),
        (task.message.id, Refused),
        (new_id(), NotFound),
    ):
        with pytest.raises(error):
            edit(chat, message, "Or rather?")
    with pytest.raises(NotFound):
        edit(chat, message_id(chat, 1), "Or rather?", owner=BOB)
    off_path = message_id(chat, 3)
    begun = edit(chat, off_path, "Or rather?")
    with pytest.raises(TurnRunning):
        edit(chat, message_id(chat, 1), "And this?")
    with pytest.raises(TurnRunning):
        show_version.here(owner=ADA, message=off_path)
    end(begun)
    with pytest.raises(NotFound):
        edit(chat, off_path, "And this?")
    show_version.here(owner=ADA, message=off_path)
    assert shown_messages(chat) == [*before, ("user", "Rain.")]


def test_a_branch_keeps_what_its_message_replied_to(chat: str) -> None:
    asked = messages(chat).get(seq=5)
    asked.reply_to = messages(chat).get(seq=2).id
    asked.save()
    begun = edit(chat, str(asked.id), "Or rather?")
    assert begun.reply_to == message_id(chat, 2)
    assert begun.messages[0].reply is not None and begun.messages[0].reply.text == "answer 1"


def test_a_marker_in_the_former_branch_still_forgets_what_is_above(chat: str) -> None:
    forget_above_message.here(owner=ADA, message=message_id(chat, 5), on=True)
    begun = edit(chat, message_id(chat, 3), "Or rather?")
    assert row(chat).forget_above == messages(chat).get(id=begun.asked).seq


def test_the_marker_of_a_branch_comes_back_with_it(chat: str) -> None:
    """Otherwise what somebody had forgotten would be sent again after two clicks on an arrow."""
    forget_above_message.here(owner=ADA, message=message_id(chat, 5), on=True)
    former = message_id(chat, 3)
    begun = edit(chat, former, "Or rather?")
    end(begun, "Rather so.")
    show_version.here(owner=ADA, message=former)
    assert row(chat).forget_above == 5
    show_version.here(owner=ADA, message=begun.asked)
    assert row(chat).forget_above == messages(chat).get(id=begun.asked).seq
    show_version.here(owner=ADA, message=former)
    assert row(chat).forget_above == 5


def test_an_answer_of_before_comes_back_with_the_marker_below_it(chat: str) -> None:
    forget_above_message.here(owner=ADA, message=message_id(chat, 5), on=True)
    former = message_id(chat, 2)
    end(retry(chat, former), "Otherwise.")
    assert row(chat).forget_above == 1
    show_version.here(owner=ADA, message=former)
    assert row(chat).forget_above == 5


def test_what_was_cleared_away_is_no_version_of_what_follows(chat: str) -> None:
    old = message_id(chat, 1)
    clear_conversation.here(owner=ADA, conversation=chat)
    end(begin(chat, "Anew"))
    assert versions(chat, 0) == []
    with pytest.raises(NotFound):
        show_version.here(owner=ADA, message=old)
    asked = message_id(chat, 7)
    begun = edit(chat, asked, "Anew, and better")
    end(begun)
    assert versions(chat, 0) == [asked, begun.asked]


def begin_to_show(message: str) -> None:
    """Only the first piece, as where the server is killed then."""
    steps = show_version.pieces(owner=ADA, message=message)
    assert next_piece(steps) == (False, None)
    steps.close()


class TestKilledBetweenPieces:
    @pytest.fixture(autouse=True)
    def short_pieces(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(versions_module, "PIECE", 2)

    def test_the_next_start_puts_the_rest_of_the_branch_on_the_path(self, chat: str) -> None:
        before, first = shown_messages(chat), message_id(chat, 1)
        last = row(chat).last_turn_id
        end(edit(chat, first, "Or rather?"))
        begin_to_show(first)
        assert shown_messages(chat) == before[:2]
        end_interrupted.here()
        assert shown_messages(chat) == before and stored_totals(chat) == counted_totals(chat)
        assert (row(chat).leads_to, row(chat).last_turn_id) == (0, last)
        end_interrupted.here()
        assert shown_messages(chat) == before

    def test_a_message_sent_in_between_stays_where_it_is(self, chat: str) -> None:
        before, first = shown_messages(chat), message_id(chat, 1)
        end(edit(chat, first, "Or rather?"))
        begin_to_show(first)
        end(begin(chat, "In between"), "Yes?")
        end_interrupted.here()
        assert shown_messages(chat) == [*before[:2], ("user", "In between"), ("assistant", "Yes?")]
        assert row(chat).leads_to == 0 and stored_totals(chat) == counted_totals(chat)

    @pytest.mark.parametrize("change", ["edit", "retry", "delete", "clear", "show"])
    def test_whatever_led_the_path_elsewhere_in_between_holds(self, chat: str, change: str) -> None:
        first = message_id(chat, 1)
        other = edit(chat, first, "Or rather?")
        end(other)
        begin_to_show(first)
        if change == "edit":
            end(edit(chat, first, "Or otherwise?"))
        elif change == "retry":
            end(retry(chat, first))
        elif change == "delete":
            delete_message.here(owner=ADA, message=first)
        elif change == "clear":
            clear_conversation.here(owner=ADA, conversation=chat)
        else:
            show_version.here(owner=ADA, message=other.asked)
        now = shown_messages(chat)
        end_interrupted.here()
        assert row(chat).leads_to == 0 and stored_totals(chat) == counted_totals(chat)
        if change == "delete":
            assert shown_messages(chat)[: len(now)] == now
        else:
            assert shown_messages(chat) == now

    def test_two_that_put_the_same_rest_there_lose_nothing(self, chat: str) -> None:
        before, first = shown_messages(chat), message_id(chat, 1)
        end(edit(chat, first, "Or rather?"))
        steps = show_version.pieces(owner=ADA, message=first)
        assert next_piece(steps) == (False, None)
        finish_branches.here()
        assert next_piece(steps)[0]
        assert shown_messages(chat) == before and stored_totals(chat) == counted_totals(chat)

    def test_a_retry_that_leaves_nothing_gives_back_a_long_branch_in_pieces(
        self, chat: str
    ) -> None:
        before = shown_messages(chat)
        tried = retry(chat, message_id(chat, 2))
        ended = end(tried, "", state="stopped")
        assert ended is not None and ended.below == 1
        assert shown_messages(chat) == before[:3]
        finish_branches.here(conversation=chat)
        assert shown_messages(chat) == before and stored_totals(chat) == counted_totals(chat)


def test_a_long_branch_comes_in_pieces_and_a_message_in_between_loses_none(
    chat: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(versions_module, "PIECE", 2)
    before, first = shown_messages(chat), message_id(chat, 1)
    end(edit(chat, first, "Or rather?"))
    show_version.here(owner=ADA, message=first)
    assert shown_messages(chat) == before and stored_totals(chat) == counted_totals(chat)
    other = versions(chat, 0)[1]
    show_version.here(owner=ADA, message=other)
    steps = show_version.pieces(owner=ADA, message=first)
    assert next_piece(steps) == (False, None)
    end(begin(chat, "In between"), "Yes?")
    assert next_piece(steps)[0]
    assert shown_messages(chat) == [*before[:2], ("user", "In between"), ("assistant", "Yes?")]
    rest = versions(chat, 2)[0]
    show_version.here(owner=ADA, message=rest)
    assert shown_messages(chat) == before and stored_totals(chat) == counted_totals(chat)
