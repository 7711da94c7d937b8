"""Servers that start on a database of before: one brings it up to date, the others wait for it."""

from __future__ import annotations

import signal
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from tests.cluster.conftest import SECRET
from tests.person import Person
from tests.postgres import Postgres
from tests.running import Server
from tests.story.talk_rooms import wait_for

pytestmark = pytest.mark.slow
APPLIED = "SELECT count(*) FROM django_migrations"


async def test_servers_that_start_at_once_on_an_empty_database_all_serve(
    postgres: Postgres, tmp_path: Path
) -> None:
    url = postgres.new_database("at_once")
    servers = [Server(tmp_path / name, DATABASE_URL=url, SECRET_KEY=SECRET) for name in "abc"]
    with ThreadPoolExecutor(3) as threads:
        list(threads.map(Server.start, servers))
    try:
        async with Person(servers[0].url) as ada:
            page = await ada.page()
            assert (await page.say("Hello"))["state"] == "complete"
            for other in servers[1:]:
                there = await ada.page(page.conversation, at=other.url)
                assert there.snapshot["messages"][-1]["state"] == "complete"
        assert all("Traceback" not in server.log for server in servers)
    finally:
        for server in servers:
            server.kill()


def test_a_server_killed_while_it_migrates_leaves_the_rest_to_the_next(
    postgres: Postgres, tmp_path: Path
) -> None:
    url = postgres.new_database("killed")
    first = Server(tmp_path / "first", DATABASE_URL=url, SECRET_KEY=SECRET)
    with ThreadPoolExecutor(1) as threads:
        starting = threads.submit(first.start)
        there = "SELECT count(*) FROM pg_tables WHERE tablename = 'django_migrations'"
        wait_for(lambda: postgres.psql(there, database="killed").strip() == "1")
        wait_for(lambda: int(postgres.psql(APPLIED, database="killed")) >= 12)
        assert first.process is not None
        first.process.send_signal(signal.SIGKILL)
        assert isinstance(starting.exception(), AssertionError), "it never served"
    applied = int(postgres.psql(APPLIED, database="killed"))
    with Server(tmp_path / "second", DATABASE_URL=url, SECRET_KEY=SECRET) as second:
        assert int(postgres.psql(APPLIED, database="killed")) > applied
        assert "Traceback" not in second.log
