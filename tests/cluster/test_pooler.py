"""pgbouncer before the database: each transaction may have another connection."""

from __future__ import annotations

import asyncio
import getpass
import shutil
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.cluster.conftest import KEY, SECRET
from tests.fakes.openai_server import FakeOpenAI
from tests.person import Person
from tests.postgres import NAME, Postgres
from tests.running import Server, free_port

pytestmark = pytest.mark.slow

PROGRAM = shutil.which("pgbouncer") or "/usr/sbin/pgbouncer"
# Fewer connections than people, so that they change hands all the time.
CONFIGURATION = """
[databases]
* = host=127.0.0.1 port={database} user=chatsite
[pgbouncer]
listen_addr = 127.0.0.1
listen_port = {port}
unix_socket_dir =
auth_type = any
pool_mode = transaction
default_pool_size = 3
logfile = {folder}/log
"""


@contextmanager
def pooler(postgres: Postgres) -> Iterator[int]:
    """Its port."""
    port = free_port()
    # Not in a folder of pytest: it refuses root, and another user can't enter there.
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "ini"
        file.write_text(CONFIGURATION.format(database=postgres.port, port=port, folder=folder))
        command = [PROGRAM, "-q", str(file)]
        if getpass.getuser() == "root":
            shutil.chown(folder, "postgres")
            command = ["runuser", "-u", "postgres", "--", *command]
        with subprocess.Popen(command, stderr=subprocess.DEVNULL) as process:
            try:
                wait_until_it_listens(port)
                yield port
            finally:
                process.terminate()


def wait_until_it_listens(port: int) -> None:
    deadline = time.monotonic() + 30
    while True:
        try:
            socket.create_connection(("127.0.0.1", port)).close()
            return
        except OSError:
            assert time.monotonic() < deadline, "pgbouncer doesn't listen"
            time.sleep(0.05)


async def talk(url: str) -> None:
    async with Person(url) as somebody:
        page = await somebody.page()
        for number in range(4):
            assert (await page.say(f"Pier {number}?"))["state"] == "complete"
            again = await somebody.page(page.conversation)
            assert again.snapshot["messages"][-2]["content"] == f"Pier {number}?"
            await again.close()


@pytest.mark.skipif(not Path(PROGRAM).exists(), reason="Debian: apt install pgbouncer")
async def test_many_talk_at_once_through_a_pooler_of_transactions(
    postgres: Postgres, fake: FakeOpenAI, tmp_path: Path
) -> None:
    direct = postgres.new_database("pooled", template=NAME)
    with pooler(postgres) as port:
        pooled = direct.replace(str(postgres.port), str(port))
        server = Server(
            tmp_path,
            DATABASE_URL=pooled,
            DATABASE_DIRECT_URL=direct,
            SECRET_KEY=SECRET,
            OPENAI_API_KEY=KEY,
            OPENAI_BASE_URL=fake.base_url,
        )
        with server:
            await asyncio.gather(*(talk(server.url) for _ in range(12)))
        assert "Traceback" not in server.log
