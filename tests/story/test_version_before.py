"""A database and an exported conversation of the previous version still open.

Commit 2eda37a made `tests/data/before` with the echo provider: one conversation of the account
`ada` with an answer tried again, a tool call, a summary, a pinned message and places in the cache.
`database.sql` is the dump of its SQLite file, `snapshot.json` the part of its page's snapshot that
doesn't depend on the server.
"""

from __future__ import annotations

import json
import sqlite3
import uuid
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from tests.person import Person
from tests.running import Server

BEFORE = Path(__file__).resolve().parent.parent / "data" / "before"
ADA = ("ada", "petrel-1952")
CONVERSATION = "11111111-2222-4333-8444-555555555555"


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """This version, started on a copy of that database."""
    folder = tmp_path_factory.mktemp("before")
    with closing(sqlite3.connect(folder / "chatsite.sqlite3")) as database:
        database.executescript((BEFORE / "database.sql").read_text(encoding="utf-8"))
    with Server(folder) as running:
        yield running
    assert "Traceback" not in running.log, running.log
    assert "Warning" not in running.log, running.log


def expected() -> dict[str, Any]:
    snapshot: dict[str, Any] = json.loads((BEFORE / "snapshot.json").read_text(encoding="utf-8"))
    # That version kept no choice with a conversation.
    snapshot["conversation"]["history"] = {}
    # And no message could be edited or bookmarked, or be somebody else's than the owner's.
    for message in snapshot["messages"]:
        message |= {"edited": False, "bookmarked": False, "speaker": ""}
    return snapshot


def told(messages: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Of versions that version told the ids alone, of no answer which model wrote it, and of no
    message what is kept of it."""
    found = [one | {"versions": [each["id"] for each in one["versions"]]} for one in messages]
    later = {"model", "kept_whole", "in_force", "offered"}
    return [{name: one[name] for name in one if name not in later} for one in found]


def without_counts(messages: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [{name: one[name] for name in one if name != "tokens"} for one in messages]


def test_a_copy_was_made_before_it_was_brought_up_to_date(server: Server) -> None:
    (copy,) = server.folder.glob("before-*.sqlite3")
    with closing(sqlite3.connect(copy)) as database:
        names = [name for (name,) in database.execute("SELECT name FROM django_migrations")]
        assert "0022_room_names" not in names
        assert database.execute("SELECT count(*) FROM conversations_message").fetchone()[0]
    assert copy.stat().st_mode & 0o777 == 0o600
    assert f"as it was: {copy}" in server.log


def test_a_database_of_a_newer_version_is_refused_and_left_as_it_is(tmp_path: Path) -> None:
    with Server(tmp_path):
        pass
    with closing(sqlite3.connect(tmp_path / "chatsite.sqlite3")) as database:
        newer = ("conversations", "9999_of_tomorrow", "2036-01-01 00:00:00")
        database.execute("INSERT INTO django_migrations (app, name, applied) VALUES (?,?,?)", newer)
        database.commit()
    before = (tmp_path / "chatsite.sqlite3").read_bytes()
    with pytest.raises(AssertionError, match="made by a newer version of Chatsite .9999_of_tom"):
        Server(tmp_path).start()
    assert (tmp_path / "chatsite.sqlite3").read_bytes() == before
    assert not list(tmp_path.glob("before-*"))


async def test_the_old_conversation_opens_unchanged_and_can_be_continued(server: Server) -> None:
    async with Person(server.url) as ada:
        await ada.sign_in(*ADA)
        page = await ada.page(CONVERSATION)
        snapshot = page.snapshot | {"messages": told(page.snapshot["messages"])}
        # That version knew nothing of the sidebar's groups, and of what a chat has of its own.
        new = {"pinned", "archived", "folder", "temporary", "tuning"}
        view = snapshot["conversation"]
        snapshot["conversation"] = {name: view[name] for name in view if name not in new}
        # That version knew no compactions.
        assert [snapshot["summary"].pop(name) for name in ("compaction", "undone")] == [0, 0]
        assert {name: snapshot[name] for name in expected()} == expected()
        ended = await page.say("Is the boat ready?")
        assert ended["state"] == "complete"
        assert ended["receipt"]["facts"]["policy"] == "lastN"
        again = await ada.page(CONVERSATION)
        # What another tokenizer counted was counted again for the model that answered.
        before = without_counts(expected()["messages"])
        assert without_counts(told(again.snapshot["messages"]))[: len(before)] == before
        assert again.snapshot["messages"][-1] == ended["message"]


async def test_the_old_receipts_and_versions_are_there(server: Server) -> None:
    async with Person(server.url) as ada:
        await ada.sign_in(*ADA)
        answers = [view for view in expected()["messages"] if view["role"] == "assistant"]
        turns = [view["turn"] for view in answers if view["turn"]]
        receipts = [await ada.ask("GET", f"/turns/{turn}/receipt") for turn in turns[:3]]
        assert all(receipt["facts"]["policy"] == "lastN" for receipt in receipts)
        last = await ada.ask("GET", f"/turns/{turns[-1]}/receipt")
        # Of receipts in the older form the cause of a miss isn't known.
        assert last.pop("since")["cause"] == "unreadable"
        assert expected()["receipt"] == last
        for turn in turns[:3]:
            rebuilt = await ada.ask("POST", f"/turns/{turn}/compare", {"query": ""})
            assert rebuilt
        tried = next(view for view in answers if view["versions"])
        assert len(tried["versions"]) == 2
        found = await ada.ask("GET", f"/conversations/{CONVERSATION}/summary")
        assert [one["text"] for one in found["versions"]] == ["The boat is called Petrel."]


async def test_every_old_receipt_is_shown_as_it_was_stored(server: Server) -> None:
    with closing(sqlite3.connect(server.folder / "chatsite.sqlite3")) as database:
        rows = database.execute(
            "SELECT id, receipt FROM conversations_turn WHERE receipt LIKE '%\"version\": 2%'"
        ).fetchall()
    assert len(rows) > 2
    async with Person(server.url) as ada:
        await ada.sign_in(*ADA)
        for turn, receipt in rows:
            shown = await ada.ask("GET", f"/turns/{uuid.UUID(turn)}/receipt")
            shown.pop("since", None)
            assert shown == json.loads(receipt)
            assert all(verdict["sentence"] for verdict in shown["verdicts"])
        first = expected()["messages"][0]["id"]
        why = await ada.ask("GET", f"/messages/{first}/why")
        assert why["sentences"]


async def test_the_old_export_is_restored(server: Server) -> None:
    file = json.loads((BEFORE / "conversation.chatsite.json").read_text(encoding="utf-8"))
    async with Person(server.url) as bob:
        restored = await bob.ask("POST", "/conversations/import", file)
        page = await bob.page(restored["conversation"]["id"])
        assert restored["conversation"]["title"] == file["title"]
        messages = page.snapshot["messages"]
        assert [one["content"] for one in messages] == [
            item.get("content") for item in file["messages"]
        ]
        assert [one["role"] for one in messages] == [item["role"] for item in file["messages"]]
        assert [one["pinned"] for one in messages] == [
            item.get("pinned", False) for item in file["messages"]
        ]
        assert (await page.say("And now?"))["state"] == "complete"


async def test_what_was_said_before_there_was_an_index_of_words_is_found(server: Server) -> None:
    async with Person(server.url) as ada, Person(server.url) as bob:
        await ada.sign_in(*ADA)
        found = await ada.ask("GET", "/conversations/search?q=boat")
        assert not found["waiting"] and found["hits"][0]["title"] == "A boat and the weather"
        [title, *messages] = found["hits"]
        assert title["seq"] is None and title["conversation"] == CONVERSATION
        boats = [one for one in expected()["messages"] if "boat" in (one["content"] or "").lower()]
        assert boats and {one["seq"] for one in boats} <= {hit["seq"] for hit in messages}
        assert (await bob.ask("GET", "/conversations/search?q=boat"))["hits"] == []
