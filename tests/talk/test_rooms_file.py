"""Reading TALK_FILE, and the errors it may have."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest

from chatsite.errors import BadSetting
from chatsite.talk.models import TalkRoom
from chatsite.talk.rooms_file import RoomEntry, RoomsFile, read_rooms_file
from chatsite.talk.surroundings import EnteredRoom

CANARY = "canary-of-the-talk-file"
ENVIRONMENT = {"TALK_PASSWORD": CANARY, "EMPTY": " ", "LINES": "a\nb"}
ROOM = {"name": "Harbour works", "agent": "demo"}


def document(**changes: Any) -> dict[str, Any]:
    return {
        "server": "https://cloud.example.org/",
        "user": "assistant",
        "password": "${TALK_PASSWORD}",
        "rooms": {"f5kq8zr2": ROOM},
        **changes,
    }


def read(folder: Path, content: object) -> RoomsFile:
    file = folder / "talk.json"
    file.write_text(content if isinstance(content, str) else json.dumps(content))
    return read_rooms_file(file, environment=ENVIRONMENT)


def test_server_account_and_rooms_are_read(tmp_path: Path) -> None:
    settings = {"historyPolicy": "lastN", "historyLength": 3, "conversation": {"enabled": True}}
    works = ROOM | {
        "chatSettings": settings,
        "speakers": ["ada", "bob"],
        "answers": "always",
        "readers": "everyone",
    }
    file = read(tmp_path, document(rooms={"f5kq8zr2": works, "abcd1234": ROOM}))
    assert (file.server, file.user, file.password) == (
        "https://cloud.example.org",
        "assistant",
        CANARY,
    )
    first, second = file.rooms
    assert first == RoomEntry(
        token="f5kq8zr2",
        name="Harbour works",
        agent="demo",
        settings=settings,
        speakers=frozenset({"ada", "bob"}),
        answers="always",
        readers="everyone",
    )
    assert (second.speakers, second.answers, second.readers) == ("members", None, "staff")
    assert CANARY not in repr(file)


@pytest.mark.parametrize(
    ("changes", "place", "allowed"),
    [
        ({"server": "cloud.example.org"}, "server", "with https://"),
        ({"server": "https://a:b@cloud.example.org"}, "server", "no name or password"),
        ({"server": "https://cloud.example.org/?a=1"}, "server", "with https://"),
        ({"user": ""}, "user", "isn't empty"),
        ({"password": CANARY}, "password", "must be ${NAME}"),
        ({"password": f"${{TALK_PASSWORD}}{CANARY}"}, "password", "must be ${NAME}"),
        ({"password": "${MISSING}"}, "password", "MISSING, which isn't set"),
        ({"password": "${EMPTY}"}, "password", "EMPTY, which isn't set"),
        ({"password": "${LINES}"}, "password", "more than one line"),
        ({"rooms": {}}, "rooms", "names no room"),
        ({"rooms": {"no/token": ROOM}}, "rooms.no/token", "no room's token"),
        ({"rooms": {"abcd": 3}}, "rooms.abcd", "must be an object"),
        ({"rooms": {"abcd": ROOM | {"speaker": "all"}}}, "rooms.abcd.speaker", "speakers"),
        ({"rooms": {"abcd": ROOM | {"speakers": "all"}}}, "rooms.abcd.speakers", "members"),
        ({"rooms": {"abcd": ROOM | {"readers": "members"}}}, "rooms.abcd.readers", "staff"),
        ({"rooms": {"abcd": ROOM | {"readers": [" "]}}}, "rooms.abcd.readers", "empty name"),
        ({"rooms": {"abcd": ROOM | {"answers": "never"}}}, "rooms.abcd.answers", "mentioned"),
        ({"rooms": {"abcd": {"agent": "demo"}}}, "rooms.abcd.name", "is missing"),
        ({"rooms": {"abcd": {"name": "A"}}}, "rooms.abcd.agent", "is missing"),
        (
            {"rooms": {"abcd": ROOM | {"chatSettings": {"historyPolicy": "lastn"}}}},
            "rooms.abcd.chatSettings.historyPolicy",
            "lastN",
        ),
        ({"token": CANARY}, "token", "is not known"),
    ],
)
def test_an_error_names_the_place_and_what_is_allowed_and_no_value(
    tmp_path: Path, changes: dict[str, Any], place: str, allowed: str
) -> None:
    with pytest.raises(BadSetting) as raised:
        read(tmp_path, document(**changes))
    message = raised.value.message
    assert message.startswith(f"TALK_FILE='{tmp_path}/talk.json': {place}: ")
    assert allowed in message
    assert CANARY not in message


def test_a_list_of_rooms_and_a_missing_file_are_refused_in_one_sentence(tmp_path: Path) -> None:
    with pytest.raises(BadSetting, match="must be"):
        read(tmp_path, [])
    with pytest.raises(BadSetting, match="can't be read: no such file"):
        read_rooms_file(tmp_path / "none.json", environment={})


def test_all_questions_of_a_room_name_the_same_room() -> None:
    """The settings of turns are cached by it."""
    entered = EnteredRoom(
        entry=RoomEntry(token="f5kq8zr2", name="Harbour works", agent="demo"),
        row=TalkRoom(account_id=7, conversation=uuid4()),
    )
    assert entered.request().room is entered.request().room
