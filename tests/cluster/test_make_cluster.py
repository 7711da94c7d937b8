"""`make cluster`: one command, one address; what was said is there after the next start."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import AsyncExitStack, contextmanager
from pathlib import Path

import pytest

from tests.demo.cluster import SERVERS
from tests.fakes.openai_server import FakeOpenAI
from tests.person import Person
from tests.postgres import Postgres
from tests.running import ROOT, free_port

pytestmark = [pytest.mark.slow, pytest.mark.thorough]
# Not the settings of tests.
AS_A_PERSON = {"DJANGO_SETTINGS_MODULE": "chatsite.settings", "PYTHONPATH": str(ROOT)}
PATIENCE = 120.0


@pytest.fixture
def folder() -> Iterator[Path]:
    """PostgreSQL's own user can't enter the folders of pytest where root runs it."""
    with tempfile.TemporaryDirectory() as made:
        yield Path(made) / "cluster"


@contextmanager
def cluster(folder: Path, port: int, **environment: str) -> Iterator[subprocess.Popen[str]]:
    """As `make cluster` starts it, until Ctrl-C."""
    process = subprocess.Popen(
        [sys.executable, "-m", "tests.demo.cluster", f"--port={port}", f"--folder={folder}"],
        cwd=folder.parent,
        env={**os.environ, **AS_A_PERSON, **environment},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        start_new_session=True,
    )
    try:
        yield process
    finally:
        process.send_signal(signal.SIGINT)
        said, _ = process.communicate(timeout=PATIENCE)
    assert process.returncode == 0, said
    assert processes_of(folder) == []


def wait_for_address(process: subprocess.Popen[str]) -> str:
    """The only one that is printed for people."""
    assert process.stdout is not None
    said = ""
    for line in process.stdout:
        said += line
        if line.startswith("Chatsite: "):
            return line.split()[1]
    raise AssertionError(said)


def processes_of(folder: Path) -> list[str]:
    """Whatever works with the folder or in it: its variables, its arguments or its place say so."""
    found = []
    for process in Path("/proc").glob("[0-9]*"):
        try:
            names = [(process / name).read_bytes() for name in ("cmdline", "environ")]
            place = str((process / "cwd").readlink()).encode()
        except OSError:  # it has ended, or it is another user's
            continue
        if any(str(folder.parent).encode() in one for one in (*names, place)):
            found.append(names[0].replace(b"\0", b" ").decode())
    return found


def living_servers(folder: Path) -> int:
    """How many say in their rows that they live."""
    postgres = Postgres(folder=folder / "postgres")
    postgres.port = int((folder / "postgres" / "data" / "postmaster.pid").read_text().split()[3])
    return int(postgres.psql("SELECT count(*) FROM conversations_server"))


async def test_it_serves_at_one_address_ends_whole_and_goes_on_from_what_was_said(
    folder: Path, fake: FakeOpenAI
) -> None:
    provider = {"OPENAI_API_KEY": "sk-canary-7f3a", "OPENAI_BASE_URL": fake.base_url}
    port = free_port()
    async with AsyncExitStack() as visit:
        with cluster(folder, port, **provider) as process:
            url = wait_for_address(process)
            assert url == f"http://127.0.0.1:{port}"
            deadline = time.monotonic() + PATIENCE
            while living_servers(folder) < SERVERS:
                assert time.monotonic() < deadline
            ada = await visit.enter_async_context(Person(url))
            page = await ada.page()
            said = await page.say("How long is the quay?")
            assert said["state"] == "complete"
            await page.close()
        with cluster(folder, port, **provider) as process:
            wait_for_address(process)
            page = await ada.page(page.conversation)
            assert page.snapshot["messages"][-1] == said["message"]
            await page.close()
