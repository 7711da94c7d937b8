"""Who may read a room in the page."""

from __future__ import annotations

import pytest

from chatsite.channels.channel import OpenRoom, Reader, Readers, Rooms
from chatsite.conversations.owners import Owner
from chatsite.turns.context.turn_context import Room


def opened(readers: Readers) -> OpenRoom:
    room = Room(name="Quay", settings={})
    return OpenRoom(room=room, conversation="c", owner=Owner(user=9), agent="demo", readers=readers)


GUEST, ADA, STAFF = Reader(name=""), Reader(name="ada"), Reader(name="grace", staff=True)


@pytest.mark.parametrize(
    ("readers", "may"),
    [
        ((), []),
        (("ada",), [ADA]),
        ("staff", [STAFF]),
        ("everyone", [ADA, STAFF]),
        (("Ada", ""), []),
    ],
)
async def test_a_room_is_read_by_whom_the_file_names_and_never_by_guests(
    readers: Readers, may: list[Reader]
) -> None:
    async def find() -> list[OpenRoom]:
        return [opened(readers)]

    rooms = Rooms()
    rooms.find = find
    await rooms.look()
    assert [one for one in (GUEST, ADA, STAFF) if rooms.read_by(one)] == may
    assert [one for one in (GUEST, ADA, STAFF) if rooms.read("c", one)] == may
    assert rooms.read("another", STAFF) is None
