"""The newest messages of a Talk room as they are stored."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest
from django.apps import apps
from django.db import IntegrityError, transaction

from chatsite.conversations.lifecycle import delete_conversation
from chatsite.errors import TurnRunning
from chatsite.talk.models import TalkRoom
from chatsite.talk.records import RoomArrival, RoomChange, RoomMessage, stored_id
from chatsite.talk.room_cache import posted, take_messages, unfinished
from chatsite.talk.room_path import (
    BATCH,
    changed_messages,
    finish_change,
    finish_question,
    place_messages,
    skip_messages,
    take_question,
    waiting_messages,
)
from chatsite.talk.rooms import begin_room, open_room
from tests.conversations.builders import begin, counted_totals, end, messages, stored_totals

pytestmark = pytest.mark.django_db
SERVER, TOKEN = "https://cloud.example.org", "harbour1"
TURN = "5f0c9c4e-6a52-4d3c-9c2a-0d1f6f7b8c9d"


@pytest.fixture
def room() -> TalkRoom:
    opened = open_room.here(server=SERVER, token=TOKEN, agent="demo")
    return begin_room.here(room=opened.pk, newest=10)


def said(id: int, text: str = "Hello", **fields: Any) -> RoomMessage:
    given = {"actor": "users/ada", "name": "Ada", "kind": "said", "waits": True, **fields}
    return RoomMessage(id=id, text=text, **given)


def take(room: TalkRoom, *found: RoomMessage, **fields: Any) -> tuple[RoomArrival, ...]:
    given = {"last_known": max([one.id for one in found], default=0), "keep": 100, **fields}
    return take_messages.here(room=room.pk, messages=found, **given)


def place(room: TalkRoom, up_to: int) -> Sequence[str]:
    """Put what waits into the conversation; the texts."""
    placed = []
    while waiting := waiting_messages.here(room=room.pk, up_to=up_to):
        assert len(waiting) <= BATCH
        place_messages.here(room=room.pk, agent="demo", waiting=waiting, keep=100)
        placed += [one.message.text for one in waiting]
    return placed


def rows(room: TalkRoom) -> dict[int, Any]:
    table: Any = apps.get_model("talk", "TalkMessage")
    return {one.number: one for one in table.objects.filter(room=room.pk)}


def test_how_far_a_room_was_read_is_stored_with_what_was_read(room: TalkRoom) -> None:
    take(room, said(12), said(14))
    assert open_room.here(server=SERVER, token=TOKEN, agent="demo").last_known == 14
    take(room, said(13), last_known=13)
    assert open_room.here(server=SERVER, token=TOKEN, agent="demo").last_known == 14
    assert set(rows(room)) == {12, 14}, "what was passed already isn't taken any more"


def test_what_fails_in_the_middle_leaves_nothing_behind(room: TalkRoom) -> None:
    broken: Any = None
    with pytest.raises(IntegrityError), transaction.atomic():
        take(room, said(12), said(14, sent=broken))
    assert not rows(room)
    assert open_room.here(server=SERVER, token=TOKEN, agent="demo").last_known == 10


def test_a_result_is_never_overwritten_by_a_later_copy(room: TalkRoom) -> None:
    reference = f"chatsite:{TURN}:result"
    post = said(12, kind="result", reference=reference, waits=False)
    take(room, post)
    take(room, replace(post, kind="said", reference="", text="Changed"))
    (row,) = rows(room).values()
    assert (row.kind, row.reference, row.text) == ("result", reference, "Changed")
    assert posted.here(room=room.pk, about=TURN) == {reference}


def test_arrivals_come_back_once_oldest_first(room: TalkRoom) -> None:
    found = take(room, said(12), said(14, addressed=True), said(16))
    assert [(one.kind, one.id) for one in found] == [("question", 14), ("settles", 16)]
    assert take(room, said(14, addressed=True), said(16)) == ()
    assert unfinished.here(room=room.pk) == found


def test_messages_go_into_the_conversation_in_order_and_its_totals_are_right(
    room: TalkRoom,
) -> None:
    take(room, *(said(20 + n, f"Talk {n}", name=f"N{n % 3}") for n in range(250)), keep=1000)
    assert place(room, 1000) == [f"Talk {n}" for n in range(250)]
    stored = messages(str(room.conversation)).order_by("seq")
    assert [one.content for one in stored] == [f"Talk {n}" for n in range(250)]
    assert [one.speaker for one in stored][:3] == ["N0", "N1", "N2"]
    assert {one.source for one in stored} == {"talk"}
    assert stored_totals(str(room.conversation)) == counted_totals(str(room.conversation))
    assert str(stored[0].id) == stored_id(SERVER, TOKEN, 20)


def test_nothing_is_placed_twice(room: TalkRoom) -> None:
    take(room, said(12))
    waiting = waiting_messages.here(room=room.pk, up_to=12)
    for _ in range(2):
        place_messages.here(room=room.pk, agent="demo", waiting=waiting, keep=100)
    assert messages(str(room.conversation)).count() == 1


def test_while_an_answer_is_written_they_wait(room: TalkRoom) -> None:
    begun = begin(str(room.conversation), owner=room.owner)
    take(room, said(12))
    with pytest.raises(TurnRunning):
        place(room, 12)
    assert [one.kind for one in unfinished.here(room=room.pk)] == ["settles"]
    end(begun)
    assert place(room, 12) == ["Hello"]


def test_a_reply_to_what_is_placed_with_it_is_one(room: TalkRoom) -> None:
    take(room, said(12, "First"), said(14, "Second", parent=12))
    place(room, 14)
    second = messages(str(room.conversation)).get(content="Second")
    assert str(second.reply_to) == stored_id(SERVER, TOKEN, 12)


def test_the_newest_finished_ones_are_kept_and_all_behind_one_that_is_not(room: TalkRoom) -> None:
    take(room, said(12, addressed=True), *(said(20 + n) for n in range(60)), keep=20)
    assert len(rows(room)) == 61, "none is finished"
    assert take_question.here(room=room.pk, number=12) is not None
    skip_messages.here(room=room.pk, numbers=range(20, 80), keep=20)
    assert len(rows(room)) == 61, "what was posted about the question may be among them"
    finish_question.here(room=room.pk, number=12, asked="", keep=20)
    skip_messages.here(room=room.pk, numbers=[12], keep=20)
    assert sorted(rows(room)) == list(range(60, 80))


def test_a_change_counts_once_however_often_it_comes(room: TalkRoom) -> None:
    take(room, said(12))
    place(room, 12)
    system = said(14, "", kind="system", waits=False)
    change = RoomChange(id=14, kind="edited", message=12, after=said(12, "Edited", edited=5))
    found = take(room, system, changes=[change])
    assert [(one.kind, one.id) for one in found] == [("settles", 12)]
    (behind,) = changed_messages.here(room=room.pk)
    assert (str(behind.stored), behind.text) == (stored_id(SERVER, TOKEN, 12), "Edited")
    finish_change.here(behind)
    assert take(room, system, changes=[change]) == ()
    assert changed_messages.here(room=room.pk) == []


def test_a_change_that_comes_while_another_is_carried_is_carried_too(room: TalkRoom) -> None:
    take(room, said(12))
    place(room, 12)
    edited = RoomChange(id=14, kind="edited", message=12, after=said(12, "Edited", edited=5))
    take(room, said(14, "", kind="system", waits=False), changes=[edited])
    (behind,) = changed_messages.here(room=room.pk)
    deleted = RoomChange(id=16, kind="deleted", message=12)
    take(room, said(16, "", kind="system", waits=False), changes=[deleted])
    finish_change.here(behind)
    (still,) = changed_messages.here(room=room.pk)
    assert (still.number, still.kind) == (12, "deleted")
    finish_change.here(still)
    assert changed_messages.here(room=room.pk) == []


def test_another_conversation_of_the_account_is_never_the_rooms(room: TalkRoom) -> None:
    take(room, said(12))
    place(room, 12)
    delete_conversation.here(owner=room.owner, conversation=str(room.conversation))
    anew = open_room.here(server=SERVER, token=TOKEN, agent="demo")
    assert anew.conversation != room.conversation and anew.owner == room.owner
