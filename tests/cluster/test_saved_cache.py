"""The engine's saved cache: each machine has files of its own, and rows in the database of all."""

from __future__ import annotations

import os
import socket
import time
import uuid
from collections.abc import Callable
from hashlib import sha256
from pathlib import Path

import pytest

from tests.person import Person
from tests.postgres import Postgres
from tests.running import Server
from tests.story.talk_rooms import wait_for

pytestmark = pytest.mark.slow

Serve = Callable[..., Server]
LONG_AGO = time.time() - 7 * 24 * 3600


def written(folder: Path) -> Path:
    """A file that an engine saved some days ago."""
    file = folder / "kv" / f"{uuid.uuid4().hex}.bin"
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_bytes(b"cells")
    os.utime(file, (LONG_AGO, LONG_AGO))
    return file


def saved(postgres: Postgres, database: str, folder: Path, conversation: str) -> Path:
    """The same with its row, as a machine stores it that has this folder."""
    file = written(folder)
    machine = sha256(f"{socket.gethostname()}:{folder / 'kv'}".encode()).hexdigest()[:9]
    postgres.psql(
        "INSERT INTO conversations_kvsession (key, conversation_id, fingerprint, ids, spans, file,"
        f" size, digest, used, created) VALUES ('{machine}:{conversation}', '{conversation}', '',"
        f" '', '[]', '{file.name}', 5, '', now(), now())",
        database=database,
    )
    return file


async def test_each_machine_removes_what_is_left_over_of_its_own_and_nothing_of_others(
    serve: Serve, postgres: Postgres, tmp_path: Path
) -> None:
    first = serve()
    database = first.environment["DATABASE_URL"].rpartition("/")[2]
    async with Person(first.url) as ada:
        page = await ada.page()
        await page.say("Hello")
    mine = saved(postgres, database, first.folder, page.conversation)
    theirs = saved(postgres, database, tmp_path / "2", page.conversation)
    leftover = written(tmp_path / "2")
    second = serve()
    assert second.folder == tmp_path / "2"
    wait_for(lambda: not leftover.exists())
    # Now it leads, and keeps the storage of all in order.
    leftover = written(second.folder)
    first.kill()
    wait_for(lambda: not leftover.exists())
    first.start()
    rows = postgres.psql("SELECT file FROM conversations_kvsession", database=database).split()
    assert set(rows) == {mine.name, theirs.name}
    assert mine.exists() and theirs.exists()
    assert "Traceback" not in first.log + second.log
