"""A server that follows the rooms of a Talk-shaped one, for stories."""

from __future__ import annotations

import json
import sqlite3
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any
from uuid import UUID

from tests.fakes.openai_server import FakeOpenAI
from tests.fakes.talk_server import BOT, PASSWORD, FakeTalk
from tests.running import Server
from tests.story.conftest import provider_environment

PATIENCE = 30.0


def talk_server(
    folder: Path,
    talk: FakeTalk,
    fake: FakeOpenAI,
    rooms: Mapping[str, Mapping[str, Any]],
    **more: str,
) -> Server:
    """Not started yet. `rooms` by token: what the file says of each; they get people and a name."""
    for token in rooms:
        if token not in talk.rooms:
            talk.add_room(token, "ada", "bob", bot=BOT, name=f"Room {token}")
    named = {token: {"name": f"Room {token}", **said} for token, said in rooms.items()}
    document = {"server": talk.url, "user": BOT, "password": "${TALK_PASSWORD}", "rooms": named}
    folder.mkdir(parents=True, exist_ok=True)
    file = folder / "talk.json"
    file.write_text(json.dumps(document))
    environment = {"TALK_FILE": str(file), "TALK_PASSWORD": PASSWORD, **more}
    return Server(folder, **provider_environment(fake, **environment))


def wait_for(condition: Callable[[], Any], *, seconds: float = PATIENCE) -> Any:
    """What the condition finds, once it finds something."""
    deadline = time.monotonic() + seconds
    while not (found := condition()):
        assert time.monotonic() < deadline, "it never came"
        time.sleep(0.02)
    return found


def follows(talk: FakeTalk, rooms: int) -> None:
    """Wait until so many rooms are being read."""
    wait_for(lambda: talk.polling == rooms)


def ask(talk: FakeTalk, token: str, text: str, who: str = "ada", *, reply_to: int = 0) -> str:
    """Ask the bot, and wait for its answer."""
    before = len(talk.posts(token))
    talk.say(token, who, f"@{BOT}: {text}", reply_to=reply_to)
    posts: list[str] = wait_for(lambda: talk.posts(token)[before:])
    return posts[0]


def sent(fake: FakeOpenAI, number: int = -1) -> list[str]:
    """What the model got with a request, without its instructions."""
    messages: Sequence[Mapping[str, Any]] = fake.requests[number]["messages"]
    return [str(one["content"]) for one in messages if one["role"] != "system"]


def stored(server: Server, sql: str, *values: object) -> list[tuple[Any, ...]]:
    with closing(sqlite3.connect(server.folder / "chatsite.sqlite3")) as database:
        return database.execute(sql, values).fetchall()


def conversation_of(server: Server, token: str) -> str:
    """The id of a room's conversation."""
    query = "SELECT conversation FROM conversations_talkroom WHERE token = ?"
    return str(UUID(stored(server, query, token)[0][0]))


def path_of(server: Server, token: str) -> list[tuple[str, str, str]]:
    """Role, speaker and text of what is in a room's conversation."""
    found = stored(
        server,
        "SELECT role, speaker, content FROM conversations_message "
        "WHERE conversation_id = ? AND on_path ORDER BY seq",
        UUID(conversation_of(server, token)).hex,
    )
    return [(role, speaker, content) for role, speaker, content in found]


def receipt_of(server: Server, token: str) -> dict[str, Any]:
    """The stored receipt of a room's newest answer."""
    found = stored(
        server,
        "SELECT receipt FROM conversations_turn WHERE conversation_id = ? "
        "AND receipt IS NOT NULL ORDER BY number DESC LIMIT 1",
        UUID(conversation_of(server, token)).hex,
    )
    receipt: dict[str, Any] = json.loads(found[0][0])
    return receipt
