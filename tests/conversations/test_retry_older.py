"""An answer far above the end is given again: what was below it stays with the former one."""

from __future__ import annotations

import pytest

from chatsite.conversations.models import Turn
from chatsite.conversations.path import marks
from chatsite.conversations.turn import receipts
from chatsite.conversations.turn.end import end_interrupted, end_turn
from chatsite.conversations.versions.edits import edit_message
from chatsite.conversations.versions.versions import show_version
from chatsite.errors import Refused
from tests.conversations.builders import (
    ADA,
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
from tests.conversations.test_retry import DOWN, message_id, versions

pytestmark = pytest.mark.django_db


@pytest.mark.parametrize("place", [1, 2])
def test_an_older_answer_is_retried_and_all_below_it_stays_a_version(place: int) -> None:
    chat = new_id()
    talk(chat, 3)
    before, former = shown_messages(chat), message_id(chat, 2)
    begun = retry(chat, message_id(chat, place))
    assert (begun.gone_from, begun.place, begun.asked) == (2, 7, message_id(chat, 1))
    assert begun.loaded is not None
    read = [entry.message.content for entry in begun.loaded.transcript.entries]
    assert read == ["question 1"]
    assert stored_totals(chat) == counted_totals(chat)
    end(begun, "Better.")
    assert shown_messages(chat) == [("user", "question 1"), ("assistant", "Better.")]
    assert versions(chat) == [(), (former, begun.answer)]
    show_version.here(owner=ADA, message=former)
    assert shown_messages(chat) == before and stored_totals(chat) == counted_totals(chat)


def test_its_decision_follows_the_last_attempt_and_not_a_turn_further_below() -> None:
    chat = new_id()
    talk(chat, 3)
    turns = [str(turn.id) for turn in Turn.objects.order_by("number")]
    begun = retry(chat, message_id(chat, 4))
    assert begun.loaded is not None and begun.loaded.receipt == {"turn": turns[1]}
    ended = end(begun)
    assert ended is not None and receipts.past_turn.here(
        owner=ADA, turn=begun.turn
    ).loaded.receipt == {"turn": turns[1]}
    begun = retry(chat, message_id(chat, 3))
    assert begun.loaded is not None and begun.loaded.receipt == {"turn": ended.turn}
    end(begun)
    edit_message.here(owner=ADA, message=message_id(chat, 1), text="question one")
    begun = retry(chat, message_id(chat, 2))
    assert begun.loaded is not None and begun.loaded.receipt is None


def test_a_retry_that_leaves_nothing_gives_back_the_branch_that_was_shown() -> None:
    """Not the newest one below the answer."""
    chat = new_id()
    talk(chat, 3)
    shown, other = shown_messages(chat), message_id(chat, 3)
    end(edit(chat, other, "Or rather?"), "Rather so.")
    show_version.here(owner=ADA, message=other)
    last = row(chat).last_turn_id
    assert shown_messages(chat) == shown
    tried = retry(chat, message_id(chat, 2))
    ended = end_turn.here(
        turn=tried.turn, state="failed", text="", problem=DOWN, receipt={"turn": tried.turn}
    )
    assert ended is not None and (ended.message, ended.below) == (None, 1)
    assert shown_messages(chat) == shown and row(chat).last_turn_id == last
    assert stored_totals(chat) == counted_totals(chat)
    assert messages(chat).get(seq=1).state == "complete"
    retry(chat, message_id(chat, 2))
    end_interrupted.here(conversation=chat)
    assert shown_messages(chat) == shown and stored_totals(chat) == counted_totals(chat)


def test_what_was_forgotten_stays_forgotten_also_after_a_failure() -> None:
    chat = new_id()
    talk(chat, 4)
    marks.forget_above_message.here(owner=ADA, message=message_id(chat, 7), on=True)
    tried = retry(chat, message_id(chat, 4))
    assert tried.loaded is not None
    forgets = [entry.seq for entry in tried.loaded.transcript.entries if entry.forgets_above]
    assert forgets == [3]
    end(tried, "", state="stopped")
    assert row(chat).forget_above == 7
    end(retry(chat, message_id(chat, 4)))
    assert row(chat).forget_above == 3


def test_a_marker_that_somebody_moved_meanwhile_stays_where_it_is() -> None:
    chat = new_id()
    talk(chat, 3)
    marks.forget_above_message.here(owner=ADA, message=message_id(chat, 5), on=True)
    tried = retry(chat, message_id(chat, 4))
    marks.forget_above_message.here(owner=ADA, message=message_id(chat, 3), on=False)
    end(tried, "", state="stopped")
    assert row(chat).forget_above == 0


def test_an_answer_far_above_is_not_continued() -> None:
    chat = new_id()
    talk(chat, 2)
    with pytest.raises(Refused, match="Only the last answer"):
        retry(chat, message_id(chat, 2), mode="continue")
