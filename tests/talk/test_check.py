"""What talk_check finds out for an administrator."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from django.core.management import call_command
from django.core.management.base import CommandError
from pytest_django import Settings

from chatsite.providers.known.servers import Keys
from tests.fakes.talk_server import BOT, PASSWORD, FakeTalk


@pytest.fixture
def check(
    tmp_path: Path, talk: FakeTalk, settings: Settings, capsys: pytest.CaptureFixture[str]
) -> Any:
    """Runs the command on the rooms; what it says, and the error with which it ends."""

    def run(*, server: str = "", user: str = BOT, **rooms: str) -> tuple[str, str]:
        document = {
            "server": server or talk.url,
            "user": user,
            "password": "${TALK_PASSWORD}",
            "rooms": {t: {"name": t, "agent": agent} for t, agent in rooms.items()},
        }
        settings.TALK_FILE = tmp_path / "talk.json"
        settings.FILE_VARIABLES = Keys({"TALK_PASSWORD": PASSWORD})
        settings.TALK_FILE.write_text(json.dumps(document))
        error = ""
        try:
            call_command("talk_check")
        except CommandError as raised:
            error = str(raised)
        said = capsys.readouterr().out
        assert PASSWORD not in said + error
        return said, error

    return run


@pytest.mark.parametrize("says_text", [False, True])
def test_all_is_well(check: Any, talk: FakeTalk, says_text: bool) -> None:
    talk.says_text = says_text
    said, error = check(harbour1="demo")
    assert not error and "WRONG" not in said
    assert "harbour1: the bot is in it" not in said
    assert "Room harbour1 (harbour1): the bot is in it, and the agent demo answers." in said
    assert not [one for one in talk.asked if not one.startswith("GET ")], "it posts nothing"


@pytest.mark.parametrize("wrong", ["password", "user", "talk", "server"])
def test_it_says_what_keeps_everything_from_working(check: Any, talk: FakeTalk, wrong: str) -> None:
    expected = {
        "password": "the user name or the app password isn't accepted",
        "user": "the user name or the app password isn't accepted",
        "talk": "Talk isn't installed there",
        "server": "nothing listens there",
    }
    if wrong == "password":
        talk.withdraw()
    if wrong == "talk":
        talk.features = []
    more = {"server": "http://127.0.0.1:9"} if wrong == "server" else {}
    said, error = check(user="other" if wrong == "user" else BOT, harbour1="demo", **more)
    assert expected[wrong] in said and error.endswith("checks failed.")


def test_each_room_is_tried_by_itself(check: Any, talk: FakeTalk) -> None:
    talk.add_room("locked01", "ada", bot=BOT)
    talk.rooms["locked01"].read_only = True
    said, error = check(nowhere1="demo", locked01="demo", harbour1="nobody")
    assert "Room nowhere1 (nowhere1): there is no such room for the bot." in said
    assert "Room locked01 (locked01): it is read-only" in said
    assert "Room harbour1 (harbour1): there is no agent nobody; there are archivist, demo" in said
    assert error == "3 of 6 checks failed."


def test_an_old_talk_and_an_unprotected_password_are_told(check: Any, talk: FakeTalk) -> None:
    talk.features = ["chat-v2"]
    said, _ = check(harbour1="demo")
    assert "This Talk is too old: it lacks chat-replies, chat-reference-id." in said


def test_without_a_file_it_says_so(settings: Settings) -> None:
    settings.TALK_FILE = ""
    with pytest.raises(CommandError, match="TALK_FILE isn't set"):
        call_command("talk_check")
