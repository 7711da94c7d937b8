"""What a start makes: a database that nobody else on the machine can read."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

from chatsite.startup import keep_private


def modes(folder: Path) -> set[int]:
    return {file.stat().st_mode & 0o777 for file in folder.iterdir()}


def test_the_database_and_the_files_beside_it_are_private(tmp_path: Path) -> None:
    keep_private(tmp_path / "chats.sqlite3")
    with closing(sqlite3.connect(tmp_path / "chats.sqlite3")) as database:
        database.execute("PRAGMA journal_mode=WAL")
        database.execute("CREATE TABLE one (id)")
        assert len(list(tmp_path.iterdir())) == 3 and modes(tmp_path) == {0o600}


def test_those_of_an_older_server_become_private(tmp_path: Path) -> None:
    for name in ("chats.sqlite3", "chats.sqlite3-wal", "chats.sqlite3-shm"):
        (tmp_path / name).touch(mode=0o644)
    keep_private(tmp_path / "chats.sqlite3")
    assert modes(tmp_path) == {0o600}
