"""What a start makes: a database that nobody else on the machine can read; and what it says of one
that can't be reached."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from chatsite.startup import keep_private
from tests.running import Server, free_port


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


@pytest.mark.slow
def test_a_database_that_isnt_there_is_named_and_its_password_isnt(tmp_path: Path) -> None:
    url = f"postgres://ada:canary-5d1c@127.0.0.1:{free_port()}/chat?connect_timeout=1"
    server = Server(tmp_path, DATABASE_URL=url, SECRET_KEY="a key")
    with pytest.raises(AssertionError, match="the server ended at its start"):
        server.start()
    assert "Is it there, as DATABASE_URL says" in server.log
    assert "canary-5d1c" not in server.log and "Traceback" not in server.log
