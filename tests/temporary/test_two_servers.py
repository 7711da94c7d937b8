"""What was said in a temporary chat is in no row of PostgreSQL once another server closed it."""

from __future__ import annotations

import asyncio
import time
from pathlib import Path

import pytest

from tests.cluster.conftest import SECRET, servers_on
from tests.fakes.openai_server import FakeOpenAI
from tests.person import Person
from tests.postgres import NAME, Postgres
from tests.running import Server
from tests.temporary.planted import PATIENCE, Planted, found, talk

pytestmark = pytest.mark.slow


def in_rows(postgres: Postgres, planted: Planted) -> set[str]:
    """The places of those words that some row of some table holds, or a large object; also as
    bytes, which a dump writes in hexadecimal."""
    where = ("-h", "127.0.0.1", "-p", str(postgres.port), "-U", "chatsite")
    dump = postgres.run("pg_dump", *where, "--data-only", NAME).lower()
    words = planted.stored | planted.never
    return {at for at, one in words.items() if one in dump or one.encode().hex() in dump}


async def test_a_chat_that_another_server_closes_leaves_no_row_and_no_file(
    fake: FakeOpenAI, tmp_path: Path
) -> None:
    with Postgres() as postgres, servers_on(postgres.url, fake, tmp_path / "var") as start:
        made = Server(tmp_path / "made", DATABASE_URL=postgres.url, SECRET_KEY=SECRET)
        await asyncio.to_thread(made.manage, "migrate", "--verbosity=0")
        (temp := tmp_path / "temp").mkdir()
        shared = {"FILES_DIR": str(tmp_path / "files"), "TMPDIR": str(temp), "DEBUG": "true"}
        first = await asyncio.to_thread(start, **shared)
        second = await asyncio.to_thread(start, **shared)
        folders = (tmp_path / "var", tmp_path / "files", temp)
        async with Person(first.url) as ada:
            planted = Planted()
            page = await talk(ada, fake, planted, temporary=True)
            there = await asyncio.to_thread(in_rows, postgres, planted)
            files = await asyncio.to_thread(found, planted.stored.values(), *folders)
            missing = {at for at, one in planted.stored.items() if one not in files} - there
            assert not missing and len(planted.stored | planted.never) >= 50 and len(there) > 40
            ada.url = second.url
            await ada.ask("POST", f"/conversations/{page.conversation}/close")
            assert (await page.until("deleted"))["type"] == "deleted"  # at the first server
            words = {*planted.stored.values(), *planted.never.values()}
            deadline = time.monotonic() + PATIENCE
            while any(left := (in_rows(postgres, planted), found(words, *folders))):
                assert time.monotonic() < deadline, left
                await asyncio.sleep(0.2)
        assert "Traceback" not in first.log + second.log
