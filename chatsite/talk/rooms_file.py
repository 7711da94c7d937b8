"""The file in which the administrator names a Nextcloud server and the rooms that agents are in.

    {"server": "https://cloud.example.org", "user": "assistant", "password": "${TALK_PASSWORD}",
     "rooms": {"f5kq8zr2": {"name": "Harbour works", "agent": "demo", "speakers": "members",
                            "answers": "mentioned", "readers": ["ada"],
                            "chatSettings": {"historyPolicy": "lastN", "historyLength": 40}}}}

A room is named by its token, the last part of its address. `${NAME}` stands for that variable of
the environment: a password is never written into the file. Messages name places, never values.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal
from urllib.parse import urlsplit

from django.conf import settings as site_settings

from chatsite.checked_file import Node, read_setting_file, storable
from chatsite.history import resolve
from chatsite.turns.context.turn_context import Room

Speakers = Literal["everyone", "members"] | frozenset[str]
Readers = Literal["everyone", "staff"] | frozenset[str]
Answers = Literal["always", "mentioned"]

_TOP = ("server", "user", "password", "rooms")
_ROOM = ("name", "agent", "chatSettings", "speakers", "answers", "readers", "language")
_TOKEN = re.compile(r"[A-Za-z0-9]{4,64}")
_VARIABLE = re.compile(r"\$\{([A-Za-z_][A-Za-z0-9_]*)\}")
_CONTROL = re.compile(r"[\x00-\x1f\x7f]")
LONGEST_NAME = 120


@dataclass(frozen=True, slots=True, kw_only=True)
class RoomEntry:
    """One room. `speakers` may speak to the agent: everyone (guests too), the server's own users
    (`members`), or these alone. `answers`: to every message, or where the bot is mentioned; None
    where the file doesn't say. `readers` may read it in the page. `settings` are its own
    `chatSettings`. What isn't an agent's answer is said in its `language`, "" for the site's.
    `room` is made once: the settings of turns are cached by it."""

    token: str
    name: str
    agent: str
    settings: Mapping[str, object] = field(default_factory=dict, hash=False)
    speakers: Speakers = "members"
    answers: Answers | None = None
    readers: Readers = "staff"
    language: str = ""
    room: Room = field(init=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "room", Room(name=self.name, settings=self.settings))


@dataclass(frozen=True, slots=True, kw_only=True)
class RoomsFile:
    """The server, the bot's account there, and the rooms. The password is in no repr."""

    server: str
    user: str
    password: str = field(repr=False)
    rooms: tuple[RoomEntry, ...] = ()


def read_rooms_file(path: Path, *, environment: Mapping[str, str]) -> RoomsFile:
    """Raises BadSetting with the place and what is allowed there."""
    return read_setting_file("TALK_FILE", path, lambda document: _file(document, environment))


def _file(document: Node, environment: Mapping[str, str]) -> RoomsFile:
    if not isinstance(document.value, dict):
        raise document.error('must be {"server": ..., "user": ..., "password": ..., "rooms": ...}')
    _refuse_unknown(document, _TOP)
    rooms = document["rooms"]
    if not rooms.mapping():
        raise rooms.error("names no room; a room is named by its token")
    return RoomsFile(
        server=_server(document["server"]),
        user=_user(document["user"]),
        password=_password(document["password"], environment),
        rooms=tuple(_room(token, node) for token, node in rooms.items()),
    )


def _refuse_unknown(node: Node, known: tuple[str, ...]) -> None:
    for _, unknown in node.unknown(known):
        raise unknown.error(f"is not known; there are {', '.join(known)}")


def _server(given: Node) -> str:
    url = given.text(empty=False).strip()
    try:
        parts = urlsplit(url)
        good = parts.scheme in ("http", "https") and bool(parts.hostname) and "${" not in url
        _ = parts.port
    except ValueError:
        good = False
    if not good or parts.query or parts.fragment or _CONTROL.search(url):
        raise given.error("must be the address of a Nextcloud, with https://")
    if parts.username or parts.password:
        raise given.error("may hold no name or password; they belong in user and password")
    return url.rstrip("/")


def _user(given: Node) -> str:
    name = _name(given, longest=64)
    if ":" in name:
        raise given.error("must be a user name; it holds no colon")
    return name


def _password(given: Node, environment: Mapping[str, str]) -> str:
    found = _VARIABLE.fullmatch(given.text(empty=False).strip())
    if found is None:
        raise given.error(
            "must be ${NAME}, a variable of the environment that holds the bot's app password"
        )
    password = environment.get(found[1], "").strip()
    if not password:
        raise given.error(f"names the variable {found[1]}, which isn't set")
    if _CONTROL.search(password):
        raise given.error(f"names the variable {found[1]}, which holds more than one line")
    return password


def _room(token: str, given: Node) -> RoomEntry:
    if not _TOKEN.fullmatch(token):
        raise given.error("is no room's token: letters and digits, the last part of its address")
    given.mapping()
    _refuse_unknown(given, _ROOM)
    return RoomEntry(
        token=token,
        name=_name(given["name"], longest=LONGEST_NAME),
        agent=given["agent"].text(empty=False).strip(),
        settings=_settings(given["chatSettings"]),
        speakers=given.optional("speakers", _speakers, "members"),
        answers=given.optional("answers", _answers, None),
        readers=given.optional("readers", _readers, "staff"),
        language=given.optional("language", _language, ""),
    )


def _name(given: Node, *, longest: int) -> str:
    name = given.text(empty=False, longest=longest).strip()
    if _CONTROL.search(name):
        raise given.error("must be one line of text")
    return name


def _settings(given: Node) -> Mapping[str, object]:
    """As a template's `chatSettings`. What has an unknown value there is passed over and shown;
    here it is an error, since the administrator alone writes the file."""
    settings = storable(given.mapping(), given.place)
    assert isinstance(settings, dict)
    if "conversation" in settings:
        given["conversation"].mapping()
    decided = resolve(environment={}, url={}, template=settings)
    for said in (said for setting in decided.all.values() for said in setting.said):
        if said.outcome == "bad":
            raise given[said.name].error(said.why)
    return settings


def _answers(given: Node) -> Answers:
    return given.one_of(("always", "mentioned"))  # type: ignore[return-value]


def _language(given: Node) -> str:
    return given.one_of([code for code, _ in site_settings.LANGUAGES])


def _speakers(given: Node) -> Speakers:
    return _people(given, ("everyone", "members"))  # type: ignore[return-value]


def _readers(given: Node) -> Readers:
    return _people(given, ("everyone", "staff"))  # type: ignore[return-value]


def _people(given: Node, words: tuple[str, ...]) -> str | frozenset[str]:
    if isinstance(given.value, list):
        named = given.texts()
        if not all(name.strip() for name in named):
            raise given.error("holds an empty name")
        return frozenset(name.strip() for name in named)
    if not isinstance(given.value, str) or given.value not in words:
        raise given.error(f"must be one of: {', '.join(words)}; or a list of user names")
    return given.value
